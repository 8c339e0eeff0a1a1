// Runs on one engine: the requests are refused before any statement.
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { assertError, keepAlive } from "../../test/harness.ts";
import { valuesOf } from "../../test/rounds.ts";
import {
  type Keywords,
  parametersOf,
  routesWithBody,
  startValidCalls,
  type ValidCalls,
} from "../../test/valid-calls.ts";
import { errorCatalogue } from "../lib/errors.ts";
import type { Schema } from "./schema.ts";

/** hostile.md 16 for every operation: the tests read the route table, so they cover new operations automatically. */

let calls: ValidCalls;
before(async () => {
  calls = await startValidCalls();
});
after(() => calls.close());

/** Whether a value that is invalid for most parameters is valid for this one. */
function takes(schema: Schema, json: string): boolean {
  const { "x-wire": wire } = schema as Keywords;
  if (wire === "json") return json !== "1e400";
  if (wire === "jsonMembers" || wire === "members") return json.startsWith("{");
  if (wire === "scalarOrMembers" && json.startsWith("{")) return true;
  if (wire === "list") return json.startsWith("[");
  return (wire === "flag" || wire === "scalar" || wire === "scalarOrMembers") && /^(true|false)$/.test(json);
}

const names = ["__proto__", "constructor", "toString"];

describe("a malformed value of any parameter of any operation (hostile.md 16)", () => {
  it("gets 400 ParameterIncorrectFormat if it is an object, an array or a boolean in a body", async () => {
    const deep = `${"[".repeat(50)}${"]".repeat(50)}`;
    const notTexts = ["[]", "{}", '["a"]', '{"toString":"a"}', '{"__proto__":{"length":4}}', "true", "false", deep];
    let turn = 0;
    let count = 0;
    for (const route of routesWithBody(calls.test)) {
      for (const [name, schema] of parametersOf(route)) {
        turn += 1;
        for (const json of valuesOf(notTexts, turn)) {
          if (takes(schema, json)) continue;
          const { error, message } = (await calls.call(route, calls.pathOf(route), calls.bodyWith(route, name, json)))
            .body;
          count += 1;
          if (name === "appid") {
            assert.equal(message, "Incorrect id type, expected App.", json); // as spec/devices#registration-errors requires
            continue;
          }
          assert.equal(error, "ParameterIncorrectFormat", `${route.operation} ${name}: ${json}`);
          assert.ok(message.startsWith(`${name} must be `), message);
        }
      }
    }
    assert.ok(count > 80);
  });

  it("gets 400 if it is 1e400, NUL or a lone surrogate in a body, except in credentials", async () => {
    const malformed = ["1e400", '"\\u0000"', '"a\\u0000b"', '"\\ud800"', '"\\udc00\\ud800"'];
    let turn = 0;
    for (const route of routesWithBody(calls.test)) {
      for (const [name, schema] of parametersOf(route)) {
        turn += 1;
        for (const json of valuesOf(malformed, turn)) {
          if (takes(schema, json)) continue;
          const { body } = await calls.call(route, calls.pathOf(route), calls.bodyWith(route, name, json));
          const { "x-wire": format, "x-refused-as": refusal } = schema as Keywords;
          const isTooLarge = json === "1e400" && /^(integer|decimal|json)$/.test(`${format}`);
          const isCredential = refusal !== undefined && (json !== "1e400" || name === "appid");
          const expected = isCredential
            ? errorCatalogue[refusal].error
            : isTooLarge
              ? "ParameterOutOfRange"
              : "ParameterIncorrectFormat";
          assert.equal(body.error, expected, `${route.operation} ${name}: ${json}`);
        }
      }
    }
  });

  it("gets 400 ParameterIncorrectFormat if it is in a path and not an id", async () => {
    const texts = [
      ...names,
      "[object Object]",
      "NaN",
      "0",
      "true",
      "null",
      "-1",
      "\0",
      "'",
      "%",
      "😀",
      "a".repeat(300),
    ];
    let turn = 0;
    for (const route of calls.test.app.routes) {
      for (const [name, schema] of Object.entries(route.pathParameters?.properties ?? {})) {
        if (!("x-kind" in schema || "x-kinds" in schema)) continue;
        turn += 1;
        for (const text of valuesOf(texts, turn)) {
          const path = calls.pathOf(route, { [name]: text });
          assertError(await calls.call(route, path), 400, "ParameterIncorrectFormat", 515, `${name} must be an id.`);
        }
      }
    }
  });

  it("gets 401 if it is a malformed token and the operation requires one", async () => {
    const words = ["", "null", "undefined", "true", "1", "{}", "[]", "main.", "main.AAAA", "a b c d", "é", ...names];
    const headers = [...words, "A".repeat(10_000)].map((word) => `Service ${word}`);
    headers.push(
      "",
      "Service",
      "Basic dXNlcjpwYXNz",
      "constructor x",
      calls.user.token,
      `Service,Bearer ${calls.user.token}`,
    );
    const routes = calls.test.app.routes.filter(({ caller }) => caller !== "anyone");
    for (const [turn, route] of routes.entries()) {
      for (const authorization of valuesOf(headers, turn)) {
        const answer = await calls.test.call(`${route.method} ${calls.pathOf(route)}`, {
          headers: { authorization },
          body: "{",
          agent: keepAlive,
        });
        if (route.caller === "operator") assertError(answer, 401, "AuthFailed", 256, "An operator token is required.");
        else assertError(answer, 401, "AuthAccessTokenInvalid", 261, "Incorrect token type.");
      }
    }
  });
});

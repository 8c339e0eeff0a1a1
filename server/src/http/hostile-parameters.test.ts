import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { type Answer, assertError, startTestApp, type TestApp, type TestUser } from "../../test/harness.ts";
import type { IdKind } from "../lib/ids.ts";
import type { Route } from "./route.ts";
import type { Schema } from "./schema.ts";

/** hostile.md 16, for every operation that there is: the walk over the route table finds new ones by itself. */

let test: TestApp;
let user: TestUser;
before(async () => {
  test = await startTestApp();
  user = await test.signUp();
});
after(async () => {
  const failures = test.logLines.filter(({ level }) => Number(level) >= 50);
  await test.close();
  assert.deepEqual(failures, []);
});

describe("every parameter of every operation (hostile.md 16)", () => {
  /** A value that the schema takes. */
  function valid(name: string, schema: Schema): unknown {
    const { appid, appkey } = test.application;
    const known: Record<string, unknown> = { appid, appkey, pagingToken: "1;0", username: `name ${Math.random()}` };
    const { "x-wire": wire, "x-kind": kind } = schema as { "x-wire"?: string; "x-kind"?: IdKind };
    const byWire: Record<string, unknown> = { text: "text", integer: 1, location: "1,2", dateRange: "1-2" };
    return known[name] ?? (kind === undefined ? byWire[`${wire}`] : test.app.ids.newId(kind));
  }
  function validPath(route: Route): string {
    return route.path.replaceAll(/\{(\w+)\}/g, (_, name: string) => {
      const schema = route.pathParameters?.properties[name];
      return encodeURIComponent(`${schema === undefined ? "" : valid(name, schema)}`);
    });
  }
  function call(route: Route, path: string, body?: string) {
    const token = route.caller === "user" ? user.token : user.deviceToken;
    return test.call(`${route.method} ${path}`, { token, ...(body !== undefined && { body }) });
  }
  const shapes = (route: Route) => Object.entries(route.parameters?.properties ?? {});
  const deep = (levels: number) => `${"[".repeat(levels)}${"]".repeat(levels)}`;

  it("400 ParameterIncorrectFormat for an object, an array or a truth value in every member of every body", async () => {
    const notTexts = ["[]", "{}", '["a"]', '{"toString":"a"}', '{"__proto__":{"length":4}}', "true", "false", deep(50)];
    let calls = 0;
    for (const route of test.app.routes.filter(({ method }) => method !== "GET")) {
      for (const [name] of shapes(route)) {
        for (const value of notTexts) {
          const others = shapes(route).filter(([other]) => other !== name);
          const members = others.map(([other, schema]) => `"${other}":${JSON.stringify(valid(other, schema))}`);
          const body = `{${[...members, `"${name}":${value}`].join()}}`;
          const { error, message } = (await call(route, validPath(route), body)).body;
          assert.equal(error, "ParameterIncorrectFormat", `${route.operation} ${body}`);
          assert.ok(message.startsWith(`${name} must be `), message);
          calls += 1;
        }
      }
    }
    assert.ok(calls > 80);
  });

  it("numbers, and texts that are no text, are taken or refused, and refused for a reason of the client", async () => {
    const values = ["0", "-1", "1e400", "123456789012345678901", '"\\u0000"', '"\\ud800"', '"[object Object]"', "null"];
    for (const route of test.app.routes) {
      for (const [name] of shapes(route)) {
        for (const value of values) {
          const others = shapes(route).map(([other, schema]) => [other, valid(other, schema)] as const);
          if (route.method === "GET") {
            const query = new URLSearchParams({ [name]: JSON.parse(value) });
            for (const text of [
              query,
              `${name}=%00`,
              `${name}=%ED%A0%80`,
              `${name}=%ff`,
              `${name}[]=1`,
              `${name}[a]=1`,
            ]) {
              assert.ok((await call(route, `${validPath(route)}?${text}`)).status < 500);
            }
            continue;
          }
          const members = others.filter(([other]) => other !== name).map((m) => `"${m[0]}":${JSON.stringify(m[1])}`);
          const { status } = await call(route, validPath(route), `{${[...members, `"${name}":${value}`].join()}}`);
          assert.ok(status < 500, `${route.operation} ${name} ${value}`);
          const isRequired = !isOptional(schema);
          if (value === "1e400" || value.includes("\\u") || (value === "null" && isRequired))
            assert.equal(status, 400, `${route.operation} ${name} ${value}`);
        }
      }
    }
  });

  it("400 ParameterIncorrectFormat for whatever is no id where one is due in a path", async () => {
    const texts = [...nameCharacters, "[object Object]", "NaN", "0", "true", "null", "-1", "\0", "'", "%", "😀", "..a"];
    for (const route of test.app.routes) {
      for (const [name, schema] of Object.entries(route.pathParameters?.properties ?? {})) {
        if (!("x-kind" in schema)) continue;
        for (const text of texts) {
          const path = route.path.replace(`{${name}}`, encodeURIComponent(text));
          assertError(await call(route, path), 400, "ParameterIncorrectFormat", 515, `${name} must be an id.`);
        }
      }
    }
  });

  it("401 AuthAccessTokenInvalid for whatever is no token, on every operation that needs one", async () => {
    const words = [
      "",
      "null",
      "undefined",
      "true",
      "1",
      "{}",
      "[]",
      "[object Object]",
      "main.",
      "main.AAAA",
      "a b c d",
    ];
    const headers = [...words, ...nameCharacters, "A".repeat(10_000), "é"].map((word) => `Service ${word}`);
    for (const route of test.app.routes.filter(({ caller }) => caller !== "anyone")) {
      for (const authorization of [...headers, "", "Service", "Basic dXNlcjpwYXNz", "constructor x", user.token]) {
        const answer = await test.call(`${route.method} ${validPath(route)}`, {
          headers: { authorization },
          body: "{",
        });
        assertError(answer, 401, "AuthAccessTokenInvalid", 261, "Incorrect token type.");
      }
    }
  });
});

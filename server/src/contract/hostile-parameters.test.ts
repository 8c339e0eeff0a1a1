import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { type Answer, assertError, keepAlive, startTestApp, type TestApp, type TestUser } from "../../test/harness.ts";
import { dataPart, png, postForm, upload } from "../../test/uploads.ts";
import { type ErrorCondition, errorCatalogue } from "../errors.ts";
import type { IdKind } from "../lib/ids.ts";
import type { Route } from "./route.ts";
import type { Schema } from "./schema.ts";

/** hostile.md 16 for every operation: the tests read the route table, so they cover new operations automatically. */

let test: TestApp;
let user: TestUser;
let checkinId: string;
let locationId: string;
let publicLocationId: string;
let operatorToken: string;
let otherOperatorId: string;
/** The application that operator operations change; other operations use another one. */
let operatedId: string;
let keyId: string;
let operatedUserId: string;
let picture: Buffer;
/** Files by the names of their path parameters. */
const files: Record<string, string> = {};
before(async () => {
  picture = await png(1, 1);
  test = await startTestApp({ RATE_LIMITS: "off" });
  operatorToken = (await test.createOperator()).token;
  otherOperatorId = (await test.createOperator()).id;
  operatedId = (await test.createApplication()).appid;
  const path = `POST /_/api/applications/${operatedId}/keys`;
  keyId = (await test.call(path, { token: operatorToken, body: {} })).body.result.id;
  user = await test.signUp();
  operatedUserId = (await test.signUp()).id;
  const checkin = await test.call("POST /checkins", { token: user.token, body: { location: "1,2" } });
  checkinId = checkin.body.result.id;
  const place = { name: "Place", location: "1,2" };
  locationId = (await test.call("POST /locations", { token: user.token, body: place })).body.result.id;
  const locations = `POST /_/api/applications/${operatedId}/locations`;
  publicLocationId = (await test.call(locations, { token: operatorToken, body: place })).body.result.id;
  for (const name of ["picture", "video", "blob"]) {
    files[`${name}Id`] = (await upload(test, user.token, `/${name}s`, dataPart(picture))).id;
  }
});
after(async () => {
  const failures = test.logLines.filter(({ level }) => Number(level) >= 50);
  await test.close();
  assert.deepEqual(failures, []);
});

interface Keywords {
  readonly "x-wire"?: string;
  readonly "x-kind"?: IdKind;
  readonly "x-refused-as"?: ErrorCondition;
  readonly enum?: readonly string[];
}

/** A valid value for the parameter. */
function valid(name: string, schema: Schema): unknown {
  const { appid, appkey } = test.application;
  const known: Record<string, unknown> = {
    appid,
    appkey,
    checkinId,
    locationId,
    operatorId: otherOperatorId,
    name: `name ${Math.random()}`,
    password: "correct horse battery",
    keyId,
    ...files,
    userId: "me",
    id: "me",
    key: "key",
    pagingToken: "1;0",
    username: `name ${Math.random()}`,
    body: "@ResetCode",
    disabledOperations: [],
    origins: [],
  };
  const { "x-wire": wire, "x-kind": kind, enum: words = [] } = schema as Keywords;
  const byWire: Record<string, unknown> = {
    text: "text",
    url: "https://example.org/",
    integer: 1,
    decimal: 1,
    json: 1,
    jsonMembers: { key: 1 },
    flag: true,
    choice: words[0],
    date: 0,
    dateRange: "1-2",
    location: "1,2",
    locationRange: "1,2,3",
    list: [{ method: "GET", path: "/service/ping" }],
    scalar: "text",
    scalarOrMembers: "text",
    members: {},
  };
  return known[name] ?? (kind === undefined ? byWire[`${wire}`] : test.app.ids.newId(kind));
}

/** The path of a route with its parameters filled in; `given` ones unchanged. */
function pathOf(route: Route, given: Readonly<Record<string, string>> = {}): string {
  // Operators cannot use "me".
  const operated = { appid: operatedId, userId: operatedUserId, locationId: publicLocationId };
  const others = route.caller === "operator" ? { ...operated, ...given } : given;
  return route.path.replaceAll(/\{(\w+)\}/g, (_, name: string) => {
    const schema = route.pathParameters?.properties[name];
    return encodeURIComponent(`${others[name] ?? (schema === undefined ? "" : valid(name, schema))}`);
  });
}

function parametersOf(route: Route): [name: string, schema: Schema][] {
  return Object.entries(route.parameters?.properties ?? {});
}

/** A JSON body with valid parameters, except for this one. */
function bodyWith(route: Route, name: string, json: string): string {
  // Later calls need the password, so it must not change.
  const isChange = (other: string) => route.operation === "changeUser" && /password/i.test(other);
  const others = parametersOf(route).filter(([other]) => other !== name && !isChange(other));
  const members = others.map(([other, schema]) => `"${other}":${JSON.stringify(valid(other, schema))}`);
  return `{${[...members, `"${name}":${json}`].join()}}`;
}

function call(route: Route, path: string, body?: string): Promise<Answer> {
  const needsUser = route.caller === "user" || route.errors.includes("AuthUserAccessTokenRequired");
  const clientToken = needsUser ? user.token : user.deviceToken;
  const token = route.caller === "operator" ? operatorToken : clientToken;
  if (route.upload !== undefined && body !== undefined) {
    return postForm(
      test,
      path,
      [{ name: "body", value: body }, dataPart(/pictures?$/.test(route.path) ? picture : "x")],
      {
        token,
      },
    );
  }
  return test.call(`${route.method} ${path}`, { token, agent: keepAlive, ...(body !== undefined && { body }) });
}

function routesWithBody(): Route[] {
  return test.app.routes.filter(({ method }) => method !== "GET" && method !== "DELETE");
}

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

describe("every parameter of every operation (hostile.md 16)", () => {
  it("400 ParameterIncorrectFormat for an object, an array or a boolean in every member of every body", async () => {
    const deep = `${"[".repeat(50)}${"]".repeat(50)}`;
    const notTexts = ["[]", "{}", '["a"]', '{"toString":"a"}', '{"__proto__":{"length":4}}', "true", "false", deep];
    let calls = 0;
    for (const route of routesWithBody()) {
      for (const [name, schema] of parametersOf(route)) {
        for (const json of notTexts) {
          if (takes(schema, json)) continue;
          const { error, message } = (await call(route, pathOf(route), bodyWith(route, name, json))).body;
          calls += 1;
          if (name === "appid") {
            assert.equal(message, "Incorrect id type, expected App.", json); // as spec/devices#registration-errors requires
            continue;
          }
          assert.equal(error, "ParameterIncorrectFormat", `${route.operation} ${name}: ${json}`);
          assert.ok(message.startsWith(`${name} must be `), message);
        }
      }
    }
    assert.ok(calls > 80);
  });

  it("400 for 1e400, NUL and lone surrogates in every member of every body, except credentials", async () => {
    for (const route of routesWithBody()) {
      for (const [name, schema] of parametersOf(route)) {
        for (const json of ["1e400", '"\\u0000"', '"a\\u0000b"', '"\\ud800"', '"\\udc00\\ud800"']) {
          if (takes(schema, json)) continue;
          const { body } = await call(route, pathOf(route), bodyWith(route, name, json));
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

  it("a number in every member of every body is accepted or refused as a client error; null is absent", async () => {
    for (const route of routesWithBody()) {
      for (const [name] of parametersOf(route)) {
        const values = ["0", "-1", "0.5", "123456789012345678901", "1e300", "null"];
        const check = async (json: string) => {
          const { status, body } = await call(route, pathOf(route), bodyWith(route, name, json));
          assert.ok(status < 500, `${route.operation} ${name}: ${json}`);
          if (json !== "null") return;
          const isRequired = route.parameters?.required.includes(name) === true;
          // The name and password of the body do not exist.
          const usual = route.operation === "createOperatorSession" ? "AuthFailed" : undefined;
          assert.equal(body.error, isRequired ? "ParameterMissingRequiredValue" : usual, `${route.operation} ${name}`);
        };
        await Promise.all(values.map(check)); // some operations are slow
      }
    }
  });

  it("any value of every query parameter is accepted or refused as a client error", async () => {
    const values = ["", "%00", "%ff", "%ED%A0%80", "[object%20Object]", "NaN", "1e400", "-0", "null", "true", ...names];
    for (const route of test.app.routes.filter(({ method }) => method === "GET")) {
      for (const [name] of parametersOf(route)) {
        const queries = values.map((value) => `${name}=${value}`);
        for (const query of [...queries, `${name}[]=1`, `${name}[a]=1`, `${name}=1&${name}=2`, `${name}`]) {
          const { status } = await call(route, `${pathOf(route)}?${query}`);
          assert.ok(status < 500, `${route.operation} ${query}`);
        }
      }
    }
  });

  it("400 ParameterIncorrectFormat for any text that is not an id, in every path with an id", async () => {
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
    for (const route of test.app.routes) {
      for (const [name, schema] of Object.entries(route.pathParameters?.properties ?? {})) {
        if (!("x-kind" in schema || "x-kinds" in schema)) continue;
        for (const text of texts) {
          const path = pathOf(route, { [name]: text });
          assertError(await call(route, path), 400, "ParameterIncorrectFormat", 515, `${name} must be an id.`);
        }
      }
    }
  });

  it("401 for any text that is not a token, on every operation that needs one", async () => {
    const words = ["", "null", "undefined", "true", "1", "{}", "[]", "main.", "main.AAAA", "a b c d", "é", ...names];
    const headers = [...words, "A".repeat(10_000)].map((word) => `Service ${word}`);
    headers.push("", "Service", "Basic dXNlcjpwYXNz", "constructor x", user.token, `Service,Bearer ${user.token}`);
    for (const route of test.app.routes.filter(({ caller }) => caller !== "anyone")) {
      for (const authorization of headers) {
        const answer = await test.call(`${route.method} ${pathOf(route)}`, {
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

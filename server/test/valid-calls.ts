import assert from "node:assert/strict";
import type { Route } from "../src/contract/route.ts";
import type { Schema } from "../src/contract/schema.ts";
import type { ErrorCondition } from "../src/lib/errors.ts";
import { type IdKind, ownedIdKinds } from "../src/lib/kinds.ts";
import { type Answer, keepAlive, startTestApp, type TestApp, type TestUser } from "./harness.ts";
import { createOwnedObject } from "./owned-seeds.ts";
import { dataPart, png, postForm } from "./uploads.ts";

/** The keywords that the parameter readers add to a schema. */
export interface Keywords {
  readonly "x-wire"?: string;
  readonly "x-kind"?: IdKind;
  readonly "x-kinds"?: readonly IdKind[];
  readonly "x-refused-as"?: ErrorCondition;
  readonly enum?: readonly string[];
}

/** A server, and valid calls of all its operations, which a test changes. */
export interface ValidCalls {
  readonly test: TestApp;
  readonly user: TestUser;
  /** Returns the path of a route with its parameters filled in, using `given` values unchanged. */
  pathOf(route: Route, given?: Readonly<Record<string, string>>): string;
  /** Returns a JSON body with valid parameters, except for this one. */
  bodyWith(route: Route, name: string, json: string): string;
  /** Makes a call with a token that the route accepts. */
  call(route: Route, path: string, body?: string): Promise<Answer>;
  /** Fails if the server has logged an error. */
  close(): Promise<void>;
}

export async function startValidCalls(): Promise<ValidCalls> {
  const picture = await png(1, 1);
  const test = await startTestApp({ RATE_LIMITS: "off", STREAM_LIFETIME_MS: "100" });
  const operatorToken = (await test.createOperator()).token;
  const otherOperatorId = (await test.createOperator()).id;
  // Operator operations change this application, other operations use another one.
  const operated = await test.createApplication();
  const operatedId = operated.appid;
  const path = `POST /_/api/applications/${operatedId}/keys`;
  const keyId: string = (await test.call(path, { token: operatorToken, body: {} })).body.result.id;
  const user = await test.signUp();
  const operatedUserId = (await test.signUp(undefined, operated)).id;
  const place = { name: "Place", location: "1,2" };
  const locations = `POST /_/api/applications/${operatedId}/locations`;
  const publicLocationId: string = (await test.call(locations, { token: operatorToken, body: place })).body.result.id;
  /** The ids of objects by path parameter. */
  const objects: Record<string, string> = {};
  for (const kind of ownedIdKinds) {
    objects[`${kind.toLowerCase()}Id`] = (await createOwnedObject(test, user.token, kind)).id;
  }

  /** Returns a valid value for the parameter. */
  function valid(name: string, schema: Schema): unknown {
    const { "x-wire": wire, "x-kinds": kinds = [], "x-kind": kind = kinds[0], enum: words = [] } = schema as Keywords;
    const { appid, appkey } = test.application;
    const known: Record<string, unknown> = {
      appid,
      appkey,
      operatorId: otherOperatorId,
      name: `name ${Math.random()}`,
      password: "correct horse battery",
      keyId,
      ...objects,
      userId: "me",
      id: "me",
      key: "key",
      pagingToken: "1;0",
      username: `name ${Math.random()}`,
      body: "@ResetCode",
      disabledOperations: [],
      origins: [],
      types: wire === "list" ? ["*"] : "*",
      timeoutMs: 1_000,
      subscriptions: [{}],
      expiresInSeconds: 3_600,
      ...(wire === "date" && { occurred: test.now() }),
    };
    const byWire: Record<string, unknown> = {
      text: "text",
      url: "https://example.org/",
      email: "text",
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

  /** Returns the path of a route with its parameters filled in, using `given` values unchanged. */
  function pathOf(route: Route, given: Readonly<Record<string, string>> = {}): string {
    // Operators cannot use "me".
    const ofOperators = { appid: operatedId, userId: operatedUserId, locationId: publicLocationId };
    const others = route.caller === "operator" ? { ...ofOperators, ...given } : given;
    return route.path.replaceAll(/\{(\w+)\}/g, (_, name: string) => {
      const schema = route.pathParameters?.properties[name];
      return encodeURIComponent(`${others[name] ?? (schema === undefined ? "" : valid(name, schema))}`);
    });
  }

  /** Returns a JSON body with valid parameters, except for this one. */
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

  async function close(): Promise<void> {
    const failures = test.logLines.filter(({ level }) => Number(level) >= 50);
    await test.close();
    assert.deepEqual(failures, []);
  }

  return { test, user, pathOf, bodyWith, call, close };
}

export function parametersOf(route: Route): [name: string, schema: Schema][] {
  return Object.entries(route.parameters?.properties ?? {});
}

export function routesWithBody({ app }: TestApp): Route[] {
  return app.routes.filter(({ method }) => method !== "GET" && method !== "DELETE");
}

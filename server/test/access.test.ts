import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { updateApplicationDeleted } from "../src/applications/applications.store.ts";
import { mayDo } from "../src/config/roles.ts";
import { type Route, roleOf } from "../src/contract/route.ts";
import type { IdKind } from "../src/lib/kinds.ts";
import { digestSecret } from "../src/lib/secrets.ts";
import { deleteOperator } from "../src/operators/operators.store.ts";
import { type Answer, assertError, keepAlive, startTestApp, type TestApp } from "./harness.ts";
import { valuesOf } from "./rounds.ts";

/**
 * Calls every operation of the route table as every kind of caller, so that a new operation is covered without another
 * test.
 */

let test: TestApp;
before(async () => {
  test = await startTestApp({ STREAM_LIFETIME_MS: "100" });
});
after(() => test.close());

type Authorization = string | undefined;
/** Creates credentials for a single call, because an operation may revoke its token. */
type Callers = Readonly<Record<string, () => Authorization | Promise<Authorization>>>;
/** Credentials that every operation refuses and no call can revoke, so they are created once. */
type RefusedCallers = Readonly<Record<string, Authorization>>;

/** Creates credentials once for all operations that only read, because they revoke no token. */
function credentialMaker(): (route: Route, make: Callers[string]) => Authorization | Promise<Authorization> {
  const made = new Map<Callers[string], Authorization | Promise<Authorization>>();
  return (route, make) => (route.method === "GET" ? made.getOrInsertComputed(make, () => make()) : make());
}

async function makeOnce(callers: Callers): Promise<RefusedCallers> {
  const made = Object.entries(callers).map(async ([name, make]) => [name, await make()] as const);
  return Object.fromEntries(await Promise.all(made));
}

const hourMs = 3_600_000;
/** The time limit of thousands of sequential calls on a busy machine. */
const matrixMsMax = 600_000;

/** Callers without a valid client token, who get 401 wherever a token is required. */
function invalidCallers(invalidTokens: Readonly<Record<string, string>>): Callers {
  const dead = Object.entries(invalidTokens).map(([name, token]) => [name, () => `Service ${token}`] as const);
  return {
    "no credentials": () => undefined,
    "an empty header": () => "",
    "garbage as a token": () => "Service garbage",
    "a scheme without a token": () => "Service",
    "another word": async () => `Basic ${(await test.signUp()).token}`,
    "an altered token": async () => `Service ${(await test.signUp()).token.slice(0, -1)}`,
    "a token and two more words": async () => `Service ${(await test.signUp()).token} two words`,
    "application credentials": () => `Service ${test.application.appkey}`,
    "an operator": async () => `Service ${(await test.createOperator()).token}`,
    ...Object.fromEntries(dead),
  };
}

const operators: Callers = {
  "an operator": async () => `Service ${(await test.createOperator()).token}`,
  "an operator, with the Bearer scheme": async () => `bearer ${(await test.createOperator()).token}`,
};

/** Callers that no operator operation accepts, in addition to clients and to callers that client operations refuse. */
const invalidOperators: Callers = {
  "a deleted operator": async () => {
    const { id, token } = await test.createOperator();
    await test.app.database.write(({ queries }) => deleteOperator(id, test.app.database.dialect, queries));
    return `Service ${token}`;
  },
  "an altered operator token": async () => `Service ${(await test.createOperator()).token.slice(0, -1)}`,
  "an operator token in capitals": async () => `Service ${(await test.createOperator()).token.toUpperCase()}`,
  "an operator token that was never issued": () => `Service ${test.app.operatorTokens.issue()}`,
  "the digest of an operator token": async () => `Service ${digestSecret((await test.createOperator()).token)}`,
  "an operator token as a password": async () => {
    const { name, token } = await test.createOperator();
    return `Basic ${Buffer.from(`${name}:${token}`).toString("base64")}`;
  },
};

const devices: Callers = {
  "a device": async () => `Service ${await test.registerDevice()}`,
  "a device of another application": async () => `Service ${await test.registerDevice(await test.createApplication())}`,
};

const users: Callers = {
  "a user": async () => `Service ${(await test.signUp()).token}`,
  "a user, with the scheme in another case": async () => `sERVICE ${(await test.signUp()).token}`,
  "a user, with a signature after the token": async () => `Service ${(await test.signUp()).token} c2lnbmF0dXJl`,
  "a user of another application": async () =>
    `Service ${(await test.signUp("Jane", await test.createApplication())).token}`,
};

/** Tokens that are expired, revoked, or of another deployment. */
async function createInvalidTokens(): Promise<Record<string, string>> {
  const { databaseUrl: DATABASE_URL } = test.config;
  const short = await startTestApp({ DATABASE_URL, USER_TOKEN_LIFETIME_MS: "1000", DEVICE_TOKEN_LIFETIME_MS: "1000" });
  const elsewhere = await startTestApp({ DATABASE_URL, REGION: "eu" });
  const foreign = await startTestApp({ DATABASE_URL, ROLLCALL_SECRET: "a secret of another deployment" });
  const loggedOut = await test.signUp();
  await test.call("POST /users/me/logout", { token: loggedOut.token });
  const gone = await test.createApplication();
  const orphan = await test.signUp("Orphan", gone);
  await test.app.database.write(({ queries }) => updateApplicationDeleted(gone.appid, test.now(), queries));
  const tokens = {
    "an expired user token": (await short.signUp()).token,
    "an expired device token": await short.registerDevice(),
    "a user token of another region": (await elsewhere.signUp()).token,
    "a device token of another region": await elsewhere.registerDevice(),
    "a user token of another deployment": (await foreign.signUp()).token,
    "a user token after logout": loggedOut.token,
    "a user token of a deleted application": orphan.token,
    "a device token of a deleted application": orphan.deviceToken,
  };
  for (const app of [short, elsewhere, foreign]) await app.close();
  test.advance(hourMs);
  return tokens;
}

/** The path with well-formed ids of objects that do not exist. */
function pathOf(route: Route): string {
  return route.path.replaceAll(/\{(\w+)\}/g, (_, name: string) => {
    const schema = route.pathParameters?.properties[name];
    const [kind] = [schema?.["x-kind"], schema?.["x-kinds"]].flat().filter((each) => each !== undefined) as IdKind[]; // the parameter readers for ids add these members
    return kind === undefined ? "unknown" : test.app.ids.newId(kind);
  });
}

function takesBody({ method }: Route): boolean {
  return method !== "GET" && method !== "DELETE";
}

function call(route: Route, authorization: Authorization, body?: string): Promise<Answer> {
  const headers = authorization === undefined ? {} : { authorization };
  return test.call(`${route.method} ${pathOf(route)}`, {
    headers,
    agent: keepAlive,
    ...(body !== undefined && { body }),
  });
}

function assertInvalid(answer: Answer): void {
  assertError(answer, 401, "AuthAccessTokenInvalid", 261, "Incorrect token type.");
}

function assertNoOperator(answer: Answer): void {
  assertError(answer, 401, "AuthFailed", 256, "An operator token is required.");
}

function assertUserRequired(answer: Answer): void {
  assertError(answer, 403, "AuthUserAccessTokenRequired", 263);
}

function assertAllowed({ status, body }: Answer, name: string): void {
  assert.ok(status !== 401 && status !== 403, `${name} got ${status} ${body?.error}`);
}

/** Answers calls of the console only, without a session, too: see operators.cookies.test.ts. */
const consoleOperation = "findOperatorSession";

describe("the callers of each operation: spec/authentication#credentials-and-tokens", () => {
  it("every operation accepts the callers that it declares, and no others", { timeout: matrixMsMax }, async (t) => {
    const invalid = await makeOnce(invalidCallers(await createInvalidTokens()));
    const credentialsFor = credentialMaker();
    const routes = test.app.routes.filter((each) => each.caller !== "operator" && each.operation !== consoleOperation);
    for (const [turn, route] of routes.entries()) {
      await t.test(`${route.method} ${route.path}: ${route.caller}`, async () => {
        const unauthorized = await call(route, undefined);
        for (const [name, authorization] of valuesOf(Object.entries(invalid), turn)) {
          const answer = await call(route, authorization);
          if (route.caller !== "anyone") assertInvalid(answer);
          else assert.equal(answer.body.error, unauthorized.body.error, name);
        }
        for (const [name, make] of Object.entries(devices)) {
          const answer = await call(route, await credentialsFor(route, make));
          if (route.caller === "user") assertUserRequired(answer);
          // Whether a device may call depends on the parameters; without parameters the call needs a user.
          else if (answer.status === 403 && route.errors.includes("AuthUserAccessTokenRequired"))
            assertUserRequired(answer);
          else assertAllowed(answer, name);
        }
        for (const [name, make] of Object.entries(users)) {
          assertAllowed(await call(route, await credentialsFor(route, make)), name);
        }
      });
    }
  });

  // spec/operators#operator-tokens
  it("operator operations accept only operators", { timeout: matrixMsMax }, async (t) => {
    const { "an operator": _, ...invalid } = invalidCallers(await createInvalidTokens());
    const refused = await makeOnce({ ...invalid, ...devices, ...users, ...invalidOperators });
    const credentialsFor = credentialMaker();
    for (const each of Object.values(refused)) {
      assertNoOperator(await test.call("GET /_/api/sessions/cookie", { headers: { authorization: each ?? "" } }));
    }
    const routes = test.app.routes.filter(({ caller }) => caller === "operator");
    for (const [turn, route] of routes.entries()) {
      await t.test(`${route.method} ${route.path}`, async () => {
        for (const each of valuesOf(Object.values(refused), turn)) assertNoOperator(await call(route, each));
        for (const [name, make] of Object.entries(operators)) {
          assertAllowed(await call(route, await credentialsFor(route, make)), name);
        }
      });
    }
  });

  it("every operation under /_/api is for operators, except the sign-in and the search for a session", () => {
    const below = test.app.routes.filter(({ path }) => path.startsWith("/_/api/"));
    const isOpen = (operation: string) => ["createOperatorSession", "findOperatorSession"].includes(operation);
    assert.deepEqual(
      below.filter(({ operation }) => !isOpen(operation)),
      test.app.routes.filter(({ caller }) => caller === "operator"),
    );
    assert.ok(below.length > 0);
  });

  // spec/operators#operator-roles
  it("a viewer cannot change anything, and an editor cannot change operators: 403, before the object is read", async (t) => {
    const credentialsFor = credentialMaker();
    const roles = (["viewer", "editor", "owner"] as const).map((role) => {
      const make = async () => `Service ${(await test.createOperator(undefined, role)).token}`;
      return { role, make };
    });
    const before = await changeable();
    for (const route of test.app.routes.filter(({ caller }) => caller === "operator")) {
      const required = route.roleWithout?.role ?? roleOf(route);
      const isOwnSession = route.path.startsWith("/_/api/sessions");
      const concernsCaller = isOwnSession || route.operation === "changeOwnOperator";
      if (route.method !== "GET") assert.equal(required === "viewer", concernsCaller, route.operation);
      await t.test(`${route.method} ${route.path}: ${required}`, async () => {
        for (const { role, make } of roles) {
          const body = takesBody(route) ? "{broken" : undefined;
          const answer = await call(route, await credentialsFor(route, make), body);
          if (mayDo(role, required)) assertAllowed(answer, role);
          else assertError(answer, 403, "ObjectPermissionDenied", 771, `This requires the role ${required}.`);
        }
      });
    }
    assert.deepEqual(await changeable(), before);
  });

  async function changeable(): Promise<unknown> {
    const { reads } = test.app.database;
    const roles = (await reads.selectFrom("operators").select(["name", "role"]).execute()).filter(
      ({ name }) => !name.startsWith("operator "),
    );
    return [roles, await reads.selectFrom("applications").selectAll().execute()];
  }

  it("a deleted operator's token is refused by every process", async () => {
    const other = await startTestApp({ DATABASE_URL: test.config.databaseUrl });
    const { id, token } = await test.createOperator();
    for (const app of [test, other]) assert.equal((await app.call("GET /_/api/applications", { token })).status, 200);
    await test.app.database.write(({ queries }) => deleteOperator(id, test.app.database.dialect, queries));
    for (const app of [other, test]) assertNoOperator(await app.call("GET /_/api/applications", { token }));
    await other.close();
  });

  it("no operator token is stored or logged", async () => {
    const { token } = await test.createOperator();
    assert.match(token, /^ro_[\w-]{86}$/);
    await test.call("GET /_/api/applications", { token });
    await test.call("GET /users/me", { token });
    const rows = await test.app.database.reads.selectFrom("operator_sessions").selectAll().execute();
    assert.ok(rows.some(({ digest }) => digest === digestSecret(token)));
    assert.ok(!JSON.stringify([rows, test.logLines]).includes(token.slice(3, 20)));
  });

  // spec/errors#order-of-checks
  it("the token is checked before the body and the parameters, and both before the object", async (t) => {
    const { token, deviceToken } = await test.signUp();
    const operator = await operators["an operator"]?.();
    // An upload checks the form first: see `files.test.ts`.
    for (const route of test.app.routes.filter((each) => takesBody(each) && each.upload === undefined)) {
      await t.test(`${route.method} ${route.path}`, async () => {
        const broken = "{broken";
        if (route.caller === "operator") {
          assertNoOperator(await call(route, `Service ${token}`, broken));
          const answer = await call(route, operator, broken);
          assertError(answer, 400, "ParameterIncorrectFormat", 515, "The body is not valid JSON.");
          return;
        }
        if (route.caller !== "anyone") assertInvalid(await call(route, undefined, broken));
        if (route.caller === "user") assertUserRequired(await call(route, `Service ${deviceToken}`, broken));
        const answer = await call(route, `Service ${token}`, broken);
        assertError(answer, 400, "ParameterIncorrectFormat", 515, "The body is not valid JSON.");
      });
    }
  });

  // spec/errors#order-of-checks
  it("path and method are checked before the token", async () => {
    for (const operation of ["GET /nowhere", "PUT /users/login", "PUT /checkins", "GET /users/me/logout"]) {
      const answer = await test.call(operation, { token: "garbage" });
      assertError(answer, 404, "OperationNotFound", 516, "There is no such operation.");
    }
  });

  it("the operations without a token are exactly these", () => {
    const unguarded = test.app.routes.filter(({ caller }) => caller === "anyone");
    assert.deepEqual(unguarded.map(({ method, path }) => `${method} ${path}`).sort(), [
      "GET /_/",
      "GET /_/api/sessions/cookie",
      "GET /_/health/live",
      "GET /_/health/ready",
      "GET /service/ping",
      "POST /_/api/sessions",
      "POST /devices",
    ]);
  });
});

describe("the route table", () => {
  it("names every operation once", () => {
    const names = test.app.routes.map(({ operation }) => operation);
    assert.deepEqual(
      names.filter((name, index) => names.indexOf(name) !== index),
      [],
    );
    for (const name of names) assert.match(name, /^[a-z][A-Za-z]+$/);
  });

  it("has each method and path once, regardless of the names of path parameters", () => {
    const paths = test.app.routes.map(({ method, path }) => `${method} ${path.replaceAll(/\{\w+\}/g, "{}")}`);
    assert.equal(new Set(paths).size, paths.length);
  });

  it("declares exactly the parameters in the path, and no other parameter with such a name", () => {
    for (const { operation, path, pathParameters, parameters } of test.app.routes) {
      const inPath = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name);
      assert.deepEqual(Object.keys(pathParameters?.properties ?? {}), inPath, operation);
      assert.deepEqual([...(pathParameters?.required ?? [])], inPath, operation);
      for (const name of inPath) assert.ok(!(`${name}` in (parameters?.properties ?? {})), `${operation}: ${name}`);
    }
  });
});

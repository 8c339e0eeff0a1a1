import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { after, before, describe, it } from "node:test";
import { insertKey } from "../src/applications/applications.keys.store.ts";
import { type NewApplication, updateApplicationDeleted } from "../src/applications/applications.store.ts";
import type { Route } from "../src/contract/route.ts";
import { identifyCrash } from "../src/crashes/crash-identity.ts";
import { type OwnedIdKind, ownedIdKinds } from "../src/lib/kinds.ts";
import { type Answer, assertError, keepAlive, startTestApp, type TestApp, type TestUser } from "./harness.ts";
import { signUpWithMail } from "./mails.ts";
import { createOwnedObject } from "./owned-seeds.ts";
import { dataPart, png, postForm, upload } from "./uploads.ts";

/**
 * hostile.md 12 and 13: an object does not exist for other callers. Every operation with the id of an object is called with
 * an id of another application, of another user, and of no object.
 */

let test: TestApp;
before(async () => {
  test = await startTestApp({ WEBHOOK_NETWORKS: "127.0.0.0/8" });
});
after(() => test.close());

type PathParameters = Readonly<Record<string, string>>;

interface Seed {
  /** Creates an object of this user, and returns its path parameters. */
  create(owner: TestUser): Promise<PathParameters>;
  /** Path parameters as from `create`, for an object that never existed. */
  invent(): PathParameters;
  /** The other parameters of the operation. */
  readonly body?: object;
  /** Whether the operation takes a picture in a form. */
  readonly form?: true;
  /** Whether other users of the application cannot read the object. */
  readonly isPrivate: boolean;
  /** The error for other users who may read the object but not call this operation. */
  readonly denied?: "ObjectPermissionDenied";
}

/** The object of each operation with an id. */
const seeds: Readonly<Record<string, Seed>> = {
  ...ownedObjects(),
  flagLocation: object("Location"),
  readPictureFile: object("Picture"),
  readVideoFile: object("Video"),
  readBlobFile: object("Blob"),
  getUser: user(false),
  changeUser: { ...user(false), denied: "ObjectPermissionDenied" },
  deleteUser: { ...user(false), denied: "ObjectPermissionDenied" },
  setProfilePicture: { ...profilePicture(), form: true },
  getProfilePicture: profilePicture(),
  deleteProfilePicture: profilePicture(),
  readProfilePictureFile: { create: profilePicture().create, invent: profilePicture().invent, isPrivate: false },
  endToken: {
    async create({ token, userName, password, deviceToken }) {
      const body = { username: userName, password };
      await test.call("POST /users/login", { token: deviceToken, body }); // a second token
      const tokens = await test.call("GET /users/me/tokens?pageSize=1", { token });
      return { tokenId: tokens.body.result.pageResults[0].id };
    },
    invent: () => ({ tokenId: test.app.ids.newId("Token") }),
    isPrivate: true,
  },
  putMetadata: metadata({ value: 1 }),
  getMetadata: metadata(),
  incrementMetadata: metadata(),
  deleteMetadata: metadata(),
  putManyMetadata: metadata({ values: { key: 1 } }),
  searchMetadata: metadata(),
  endMetricEvent: {
    async create({ token }) {
      return { event: (await test.call("POST /metrics/events/level", { token })).body.result.id };
    },
    invent: () => ({ event: test.app.ids.newId("MetricEvent") }),
    isPrivate: true,
  },
  findUserOfIdentity: {
    async create({ id, token }) {
      await test.call("POST /users/me/identities/crm", { token, body: { identityId: `of ${id}` } });
      return { identityProviderName: "crm", identityId: `of ${id}` };
    },
    invent: () => ({ identityProviderName: "crm", identityId: `of ${test.app.ids.newId("User")}` }),
    isPrivate: false, // any user of the application may look up the user of an identity (spec/identities#find-a-user-by-identity)
  },
};

/** A private metadata key of a private check-in. */
function metadata(body?: object): Seed {
  const { create, invent, isPrivate } = object("Checkin");
  return {
    async create(owner) {
      const { checkinId: id = "" } = await create(owner);
      await test.call(`PUT /metadata/${id}/key`, { token: owner.token, body: { value: 1 } });
      return { id, key: "key" };
    },
    invent: () => ({ id: invent()["checkinId"] ?? "", key: "key" }),
    isPrivate,
    ...(body && { body }),
  };
}

/** The operations of each kind of owned objects. */
function ownedObjects(): Record<string, Seed> {
  const operations = ownedIdKinds.flatMap((kind) =>
    ["get", "change", "delete"].map((verb) => [`${verb}${kind}`, object(kind)] as const),
  );
  return Object.fromEntries(operations);
}

/** A private object. */
function object(kind: OwnedIdKind): Seed {
  const name = `${kind.toLowerCase()}Id`;
  return {
    create: async ({ token }) => ({ [name]: (await createOwnedObject(test, token, kind)).id }),
    invent: () => ({ [name]: test.app.ids.newId(kind) }),
    isPrivate: true,
  };
}

/** The profile picture of a user. Other users who can read the user may not change it. */
function profilePicture(): Seed {
  return {
    async create({ id, token }) {
      await upload(test, token, "/users/me/profilepicture", dataPart(await png(2, 1)));
      return { userId: id };
    },
    invent: user(false).invent,
    isPrivate: false,
    denied: "ObjectPermissionDenied",
  };
}

function user(isPrivate: boolean): Seed {
  return {
    create: async ({ id }) => ({ userId: id }),
    invent: () => ({ userId: test.app.ids.newId("User") }),
    isPrivate,
  };
}

/** Operations whose path parameters name no object of a user, and why. */
const namesNoObject: Readonly<Record<string, string>> = {
  createMetricEvent: "keys are chosen by the application; the event is stored under the caller",
  addIdentity: "providers are chosen by the application; the identity is stored under the caller",
  listIdentitiesOfProvider: "the same; the list is the caller's own",
  deleteIdentities: "the same; it deletes the caller's own identities",
  deleteIdentity: "the same",
};

async function call(
  route: Route,
  path: PathParameters,
  { token }: { readonly token: string },
  body = seeds[route.operation]?.body ?? operatorBodies[route.operation]?.(path),
): Promise<Answer> {
  const filled = route.path.replaceAll(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(path[name] ?? ""));
  const { form } = seeds[route.operation] ?? {};
  if (form) return postForm(test, filled, [dataPart(await png(1, 1))], { token });
  if (body && route.method === "GET") {
    const query = new URLSearchParams(Object.entries(body));
    return test.call(`GET ${filled}?${query}`, { token, agent: keepAlive });
  }
  return test.call(`${route.method} ${filled}`, { token, agent: keepAlive, ...(body && { body }) });
}

/** The response without the time and the request id, which differ every time. */
function visible({ status, headers, text, body }: Answer): unknown {
  const { date: _, "content-length": __, ...rest } = headers;
  return { status, headers: rest, text: text.replace(body.request_id, "") };
}

function routesWithPath(): Route[] {
  return test.app.routes.filter(({ pathParameters }) => pathParameters !== undefined);
}

/** Creates the object that the path of an operator operation names in this application. */
const operatorSeeds: Readonly<Record<string, (application: NewApplication) => Promise<PathParameters>>> = {
  getOperatedUser: operatedUser,
  disableUser: operatedUser,
  enableUser: operatedUser,
  endTokensOfUser: operatedUser,
  listTokensOfUser: operatedUser,
  eraseUser: operatedUser,
  exportUser: operatedUser,
  downloadUser: operatedUser,
  async testOidcProvider({ appid }) {
    const { token } = await test.createOperator();
    const oidc = { example: { issuer: "https://id.example", audience: "x", jwksUrl: "http://127.0.0.1:9/keys" } };
    await test.call(`PATCH /_/api/applications/${appid}/settings`, { token, body: { oidc } });
    return { provider: "example" };
  },
  changeOperatedUser: operatedUser,
  async sendPasswordReset(application) {
    const { id: userId } = await signUpWithMail(test, undefined, application);
    return { userId };
  },
  ...Object.fromEntries(ownedIdKinds.map((kind) => [`getOperated${kind}`, owned(`get${kind}`)])),
  getOperatedDevice: operatedDevice,
  endTokensOfDevice: operatedDevice,
  changePublicLocation: publicLocation,
  deletePublicLocation: publicLocation,
  readOperatedPictureFile: owned("getPicture"),
  readOperatedVideoFile: owned("getVideo"),
  readOperatedBlobFile: owned("getBlob"),
  listOperatedMetadata: async (application) => ({ objectId: (await operatedUser(application))["userId"] ?? "" }),
  async endTokenOfUser(application) {
    const { id: userId, token } = await test.signUp("Jane", application);
    const tokens = await test.call("GET /users/me/tokens", { token });
    return { userId, tokenId: tokens.body.result.pageResults[0].id };
  },
  readMetric: metric,
  listMetricEvents: metric,
  listMetricValues: metric,
  changeApplicationKey: key,
  getImpactOfKey: key,
  getImpactOfUser: operatedUser,
  listDevicesOfUser: operatedUser,
  listIdentitiesOfUser: operatedUser,
  listUsersOfDevice: operatedDevice,
  retireApplicationKey: key,
  revokeKeyTokens: key,
  listCrashReports: crash,
  getCrashGroup: crash,
  changeCrashGroup: crash,
  readCrashStatistics: crash,
  getOperatedEvent: event,
  getWebhook: webhook,
  changeWebhook: webhook,
  deleteWebhook: webhook,
  rotateWebhookSecret: webhook,
  pauseWebhook: webhook,
  resumeWebhook: webhook,
  listWebhookDeliveries: webhook,
  redeliverWebhook: webhook,
  testWebhook: webhook,
  repeatWebhookDelivery: delivery,
};

async function event(application: NewApplication): Promise<PathParameters> {
  const { appid } = application;
  await test.app.eventLog.findEnd(appid);
  const { token } = await test.signUp("Jane", application);
  await test.call("POST /checkins", { token, body: { location: "1,2" } });
  return { sequence: `${(await test.app.eventLog.findEnd(appid)).position}` };
}

async function webhook({ appid }: NewApplication): Promise<PathParameters> {
  const { token } = await test.createOperator();
  const body = { url: "http://127.0.0.1:9/hook", types: ["*"] };
  const created = await test.call(`POST /_/api/applications/${appid}/webhooks`, { token, body });
  assert.equal(created.status, 201, created.text);
  return { webhookId: created.body.result.id };
}

/** A completed delivery of an event in the log. */
async function delivery(application: NewApplication): Promise<PathParameters> {
  const { appid: application_id } = application;
  const { webhookId = "" } = await webhook(application);
  await test.call("POST /checkins", {
    token: (await test.signUp("Jane", application)).token,
    body: { location: "1,2" },
  });
  const { position } = await test.app.eventLog.findEnd(application_id);
  const [event] = await test.app.eventLog.list(application_id, position - 1, 1);
  const id = test.app.ids.newId("WebhookDelivery");
  const row = { application_id, webhook_id: webhookId, id, event_id: event?.id ?? "", type: event?.type ?? "" };
  const ended = { log: "", position, attempt: 10, state: "dead" as const, is_replay: 0 };
  const answer = { status: 500, ms: 1, error: null, response: "", created_at: test.now(), next_attempt_at: null };
  await test.app.database.write(({ queries }) =>
    queries
      .insertInto("webhook_deliveries")
      .values({ ...row, ...ended, ...answer })
      .execute(),
  );
  return { webhookId, deliveryId: id };
}

async function crash(application: NewApplication): Promise<PathParameters> {
  const token = await test.registerDevice(application);
  const stackTrace = `Error: of ${application.appid}`;
  await test.call("POST /devices/current/crashreports", { token, body: { stackTrace } });
  return { fingerprint: identifyCrash(stackTrace, null).fingerprint };
}

async function key({ appid }: NewApplication): Promise<PathParameters> {
  const created = await test.app.database.write(({ queries }) => insertKey(appid, null, test.app, queries));
  return { keyId: created.id };
}

async function publicLocation({ appid }: NewApplication): Promise<PathParameters> {
  const { token } = await test.createOperator();
  const body = { name: "Square", location: "1,2" };
  const created = await test.call(`POST /_/api/applications/${appid}/locations`, { token, body });
  return { locationId: created.body.result.id };
}

async function operatedUser(application: NewApplication): Promise<PathParameters> {
  return { userId: (await test.signUp("Jane", application)).id };
}

async function operatedDevice(application: NewApplication): Promise<PathParameters> {
  const token = await test.registerDevice(application);
  return { deviceId: (await test.call("GET /devices/current", { token })).body.result.id };
}

/** Creates the object of a client operation's seed, for a user of the application. */
function owned(operation: string) {
  return async (application: NewApplication): Promise<PathParameters> => {
    const path = await seeds[operation]?.create(await test.signUp("Jane", application));
    return path ?? {};
  };
}

/** The other parameters of an operator operation. */
const operatorBodies: Readonly<Record<string, (path: PathParameters) => object>> = {
  deleteApplication: ({ appid }) => ({ confirm: appid }),
  eraseUser: ({ userId }) => ({ confirm: userId }),
  testMailSettings: () => ({ to: "ada@example.com" }),
  createOperatedUser: () => ({ username: `added-${randomUUID()}`, password: "correct horse" }),
  changeApplicationKey: () => ({ label: "Version 2" }),
  createPublicLocation: () => ({ name: "Square", location: "1,2" }),
  searchApplication: () => ({ q: "Jane" }),
  createWebhook: () => ({ url: "http://127.0.0.1:9/hook", types: ["*"] }),
};

async function metric(application: NewApplication): Promise<PathParameters> {
  await test.call("POST /metrics/events/level", { token: await test.registerDevice(application) });
  return { key: "level" };
}

// spec/transport#missing-objects
describe("objects of other users and applications", () => {
  it("every operation with an id responds as for an object that never existed", async (t) => {
    const other = await test.signUp();
    const stranger = await test.signUp("Stranger", await test.createApplication());
    for (const route of routesWithPath().filter(({ caller }) => caller !== "operator")) {
      if (route.operation in namesNoObject) continue;
      await t.test(`${route.method} ${route.path}`, async () => {
        const seed = seeds[route.operation];
        assert.ok(seed, `add a seed for ${route.operation} to "seeds" in server/test/isolation.test.ts`);
        const owner = await test.signUp();
        const path = await seed.create(owner);

        const never = await call(route, seed.invent(), owner);
        assertError(never, 404, "ItemDoesNotExist", 769, "The item does not exist.");
        const refused = [await call(route, path, stranger), await call(route, seed.invent(), stranger)];
        if (seed.isPrivate) refused.push(await call(route, path, other), await call(route, seed.invent(), other));
        else {
          const { status, body } = await call(route, path, other);
          assert.deepEqual([status, body?.error], seed.denied ? [403, seed.denied] : [route.status, undefined]);
        }
        for (const answer of refused) assert.deepEqual(visible(answer), visible(never));

        assert.equal((await call(route, path, owner)).status, route.status, "its owner still has it");
      });
    }
  });

  it("operators reach only objects of the application in the path, and a deleted application does not exist for them", async (t) => {
    const { token } = await test.createOperator();
    for (const route of routesWithPath().filter(
      ({ pathParameters }) => "appid" in (pathParameters?.properties ?? {}),
    )) {
      await t.test(`${route.method} ${route.path}`, async () => {
        const [application, other, deleted] = [
          await test.createApplication(),
          await test.createApplication(),
          await test.createApplication(),
        ];
        const seed = operatorSeeds[route.operation];
        const names = Object.keys(route.pathParameters?.properties ?? {});
        assert.ok(seed !== undefined || names.length === 1, `add ${route.operation} to "operatorSeeds"`);
        const path = (await seed?.(application)) ?? {};
        const gone = (await seed?.(deleted)) ?? {};
        await test.app.database.write(({ queries }) => updateApplicationDeleted(deleted.appid, test.now(), queries));
        const answer = (appid: string, rest: PathParameters) =>
          call(route, { ...rest, appid }, { token }, operatorBodies[route.operation]?.({ ...rest, appid }));

        const never = await answer(test.app.ids.newId("App"), path);
        assertError(never, 404, "ItemDoesNotExist", 769, "The item does not exist.");
        assert.deepEqual(visible(await answer(deleted.appid, gone)), visible(never));
        if (names.length > 1) assert.deepEqual(visible(await answer(other.appid, path)), visible(never));
        assertError(await answer("app_1", path), 400, "ParameterIncorrectFormat", 515, "appid must be an id.");
        const wrongKind = await answer(test.app.ids.newId("User"), path);
        assertError(wrongKind, 400, "ParameterOutOfRange", 514, "Incorrect id type, expected App.");
        assert.equal((await answer(application.appid, path)).status, route.status);
      });
    }
  });

  it("a deleted operator does not exist for other operators", async (t) => {
    const owner = await test.createOperator();
    const ofOperators = routesWithPath().filter(
      ({ pathParameters }) => "operatorId" in (pathParameters?.properties ?? {}),
    );
    assert.ok(ofOperators.length >= 3);
    for (const route of ofOperators) {
      await t.test(`${route.method} ${route.path}`, async () => {
        const [there, gone] = [await test.createOperator(), await test.createOperator()];
        const { token } = owner;
        assert.equal((await test.call(`DELETE /_/api/operators/${gone.id}`, { token })).status, 200);
        const answer = (operatorId: string) => call(route, { operatorId }, { token });
        const never = await answer(test.app.ids.newId("Operator"));
        assertError(never, 404, "ItemDoesNotExist", 769, "The item does not exist.");
        assert.deepEqual(visible(await answer(gone.id)), visible(never));
        const wrongKind = await answer(test.app.ids.newId("User"));
        assertError(wrongKind, 400, "ParameterOutOfRange", 514, "Incorrect id type, expected Operator.");
        assert.equal((await answer(there.id)).status, route.status);
      });
    }
  });

  it("a page token is valid only for the same operator, application and listing (hostile.md 14)", async (t) => {
    const [one, another] = [await test.createOperator(), await test.createOperator()];
    const listings = test.app.routes.filter(
      ({ caller, parameters }) => caller === "operator" && "pagingToken" in (parameters?.properties ?? {}),
    );
    assert.ok(listings.length >= 6);
    function ask(route: Route, path: PathParameters, pagingToken = "", { token } = one): Promise<Answer> {
      return call({ ...route, path: `${route.path}?pagingToken=${encodeURIComponent(pagingToken)}` }, path, { token });
    }
    async function tokenOf(route: Route, path: PathParameters): Promise<string> {
      const { status, body } = await ask(route, path);
      assert.equal(status, 200, route.operation);
      return body.result.currentToken;
    }
    /** Creates the object of the listing in a new application. */
    async function parametersOf({ operation }: Route): Promise<PathParameters> {
      const application = await test.createApplication();
      return { ...(await operatorSeeds[operation]?.(application)), appid: application.appid };
    }
    for (const route of listings) {
      await t.test(`${route.method} ${route.path}`, async () => {
        const [own, foreign] = [await parametersOf(route), await parametersOf(route)];
        const pageToken = await tokenOf(route, own);
        assert.equal((await ask(route, own, pageToken)).status, 200);
        const refused = [await ask(route, own, pageToken, another)];
        if (route.path.includes("{appid}")) refused.push(await ask(route, foreign, pageToken));
        // Listings without an object use the same application.
        for (const other of listings.filter(({ operation }) => operation !== route.operation)) {
          const token = await tokenOf(other, other.operation in operatorSeeds ? await parametersOf(other) : own);
          refused.push(await ask(route, own, token));
        }
        const message = "pagingToken must be a token of this listing.";
        for (const answer of refused) assertError(answer, 400, "ParameterIncorrectFormat", 515, message);
      });
    }
  });

  it("every seed and exception belongs to an existing operation", () => {
    const operations = new Set(test.app.routes.map(({ operation }) => operation));
    for (const name of [seeds, namesNoObject, operatorSeeds, operatorBodies].flatMap((each) => Object.keys(each)))
      assert.ok(operations.has(name), name);
  });
});

import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { inspect } from "node:util";
import { startTestApp, type TestApp, type TestOperator } from "../../server/test/harness.ts";
import { deleteUser, getDevice, getOwnUser } from "../src/generated/calls.ts";
import { memoryStore } from "../src/identity/memory-store.ts";
import { NotSignedIn, ServiceError, SessionEnded } from "../src/wire/errors.ts";
import { breakableNetwork, type TestClient, testClient, until } from "./clients.ts";
import { createSimulatedClock } from "./simulated-clock.ts";

const password = "correct horse";
let count = 0;
const newName = () => `ada ${++count}`;

describe("the sessions of a client", () => {
  let app: TestApp;
  let operator: TestOperator;
  before(async () => {
    app = await startTestApp();
    operator = await app.createOperator();
  });
  after(() => app.close());

  /** Calls an operation of the operators' API about a user. */
  async function operate(what: string, userId: string): Promise<void> {
    const path = `/_/api/applications/${app.application.appid}/users/${userId}/${what}`;
    const { status } = await app.call(`POST ${path}`, { token: operator.token, body: {} });
    assert.ok(status < 300);
  }

  async function isAlive(token: string): Promise<boolean> {
    return (await app.call("GET /users/me", { token })).status === 200;
  }

  async function signedUp(options: Parameters<typeof testClient>[1] = {}): Promise<TestClient> {
    const client = testClient(app, options);
    await client.signUp({ userName: newName(), password });
    return client;
  }

  it("a sign-up makes its user the current user, with the profile that the service returns", async () => {
    const client = testClient(app);
    assert.equal(client.session, undefined);
    await client.ready();
    assert.equal(client.session, null);
    const userName = newName();
    const session = await client.signUp({ userName, password, firstName: "Ada", dateOfBirth: new Date(0) });
    assert.equal(client.session, session);
    assert.equal(session.userName, userName);
    assert.equal(session.state, "active");
    assert.deepEqual(session.user.dateOfBirth, new Date(0));
    assert.ok(!("accessToken" in session.user));
    assert.equal((await client.send(getOwnUser())).id, session.userId);
    assert.deepEqual(client.events, ["ready", "deviceRegistered", "signedIn", "sessionChanged"]);
  });

  it("a printed session shows its values, before and after sign-out", async () => {
    const session = (await signedUp()).session ?? assert.fail();
    const { token } = session.handoff();
    const { userId, userName, expires } = session;
    const shown = inspect(session);
    for (const value of [userId, userName, "active", expires]) assert.ok(shown.includes(inspect(value)), shown);
    assert.ok(!shown.includes("[Getter") && !shown.includes(token), shown);
    await session.signOut();
    assert.ok(inspect(session).includes("state: 'ended'"));
  });

  it("a printed device shows its state", async () => {
    const client = await signedUp();
    const { id } = await client.device.get();
    assert.match(inspect(client.device), new RegExp(`state: 'registered',\\n  id: '${id}'`));
  });

  it("a call that requires a user is not sent without one", async () => {
    const client = testClient(app);
    await assert.rejects(client.send(getOwnUser()), NotSignedIn);
    assert.deepEqual(client.requests, []);
  });

  it("a session survives a restart with its profile, at one request per call", async () => {
    const store = memoryStore();
    const first = await signedUp({ store });
    const created = first.session?.user.created;
    await first.close();
    const second = testClient(app, { store });
    await second.ready();
    assert.equal(second.session?.userId, first.session?.userId);
    assert.ok(created instanceof Date);
    assert.deepEqual(second.session?.user.created, created);
    await second.send(getOwnUser());
    assert.deepEqual(second.requests, ["GET /users/me"]);
  });

  it("several users can be signed in, and the app chooses the current user", async () => {
    const client = await signedUp();
    const [first] = client.sessions;
    await client.signUp({ userName: newName(), password });
    assert.equal(client.sessions.length, 2);
    assert.notEqual(client.session, first);
    assert.ok(first);
    await client.use(first);
    assert.equal((await client.send(getOwnUser())).id, first.userId);
    await assert.rejects(client.use("usr_unknown"), NotSignedIn);
  });

  it("signing in again replaces the token and revokes the previous token", async () => {
    const client = testClient(app);
    const userName = newName();
    const former = (await client.signUp({ userName, password })).handoff().token;
    const session = await client.signIn({ userName, password });
    assert.equal(client.sessions.length, 1);
    await until(async () => !(await isAlive(former)));
    assert.ok(await isAlive(session.handoff().token));
    assert.ok(!client.events.includes("signedOut"));
  });

  it("a sign-out revokes the token, and the device stays registered", async () => {
    const client = await signedUp();
    const session = client.session;
    const token = session?.handoff().token ?? "";
    await session?.signOut();
    assert.equal(client.session, null);
    assert.deepEqual(client.sessions, []);
    assert.equal(session?.state, "ended");
    assert.ok(!(await isAlive(token)));
    await client.send(getDevice());
    assert.deepEqual(client.events.slice(-2), ["signedOut", "sessionChanged"]);
  });

  it("a sign-out everywhere revokes all tokens of the user, the current token last", async () => {
    const client = await signedUp();
    const userName = client.session?.userName ?? "";
    const other = testClient(app);
    const tokens = [
      (await other.signIn({ userName, password })).handoff().token,
      client.session?.handoff().token ?? "",
    ];
    await client.session?.signOut({ everywhere: true });
    for (const token of tokens) assert.ok(!(await isAlive(token)));
    assert.deepEqual(client.sessions, []);
  });

  it("the user stays signed in when the service cannot complete a sign-out everywhere", async () => {
    const network = breakableNetwork();
    const client = await signedUp({ fetch: (...request) => network.fetch(...request), retry: false });
    network.state = "off";
    await assert.rejects(async () => client.session?.signOut({ everywhere: true }), { name: "ConnectionError" });
    network.state = "on";
    await client.send(getOwnUser());
  });

  it("a session becomes invalid when the service revokes its token, and the user can sign in again", async () => {
    const client = await signedUp();
    const { session } = client;
    assert.ok(session);
    await operate("revoke-tokens", session.userId);
    const failure = await client.send(getOwnUser()).catch((error) => error);
    assert.ok(failure instanceof SessionEnded && failure.cause instanceof ServiceError);
    assert.ok(failure.cause.is("AuthAccessTokenInvalid"));
    assert.equal(client.session, null);
    assert.deepEqual(client.sessions, [session]);
    assert.equal(session.state, "ended");
    assert.equal(session.reason, "revoked");
    assert.throws(() => session.handoff(), SessionEnded);
    assert.deepEqual(client.events.slice(-2), ["sessionEnded", "sessionChanged"]);
    await client.signIn({ userName: session.userName, password });
    assert.equal(client.sessions.length, 1);
    await client.forget(session.userId);
    assert.deepEqual(client.sessions, []);
  });

  it("each call with a revoked session fails with an error that reports whether the call may have been applied", async () => {
    let isCut = false;
    const network: typeof fetch = async (input, init) => {
      const answer = await fetch(input, init);
      if (!isCut || init?.method !== "POST") return answer;
      isCut = false;
      await operate("revoke-tokens", `${client.session?.userId}`);
      throw new TypeError("fetch failed");
    };
    const client = await signedUp({ fetch: network });
    isCut = true;
    const location = { lat: 48.2, lng: 16.37 };
    const written = client.checkins.create({ location }, { idempotencyKey: "mine" });
    const lost = await written.catch((error: unknown) => error);
    assert.ok(lost instanceof SessionEnded);
    assert.deepEqual([lost.outcome, lost.idempotencyKey, lost.attempts], ["unknown", "mine", 2]);
    assert.equal(lost.call?.operation, "createCheckin");

    await client.signIn({ userName: client.sessions[0]?.userName ?? "", password });
    await operate("revoke-tokens", `${client.session?.userId}`);
    const both = [client.users.me(), client.checkins.create({ location })] as const;
    const errors = await Promise.all(both.map((call) => call.catch((error: unknown) => error)));
    assert.deepEqual(
      errors.map((error) => error instanceof SessionEnded && [error.call?.operation, error.outcome, error.attempts]),
      [
        ["getOwnUser", "none", 1],
        ["createCheckin", "none", 1],
      ],
    );
  });

  it("the client asks the app for credentials once when many calls find the token invalid", async () => {
    const asked: unknown[] = [];
    const userName = newName();
    const client = testClient(app, {
      reauthenticate(ended) {
        asked.push(ended);
        return { userName, password };
      },
    });
    const { userId } = await client.signUp({ userName, password });
    await operate("revoke-tokens", userId);
    await Promise.all(Array.from({ length: 20 }, () => client.send(getOwnUser())));
    assert.deepEqual(asked, [{ userId, userName, reason: "revoked" }]);
    assert.equal(client.session?.state, "active");
  });

  it("a session becomes invalid when the app has no valid credentials, or those of another user, whose token is revoked", async () => {
    const other = await signedUp();
    const otherName = other.session?.userName ?? "";
    const answers = [
      () => undefined,
      () => ({ userName: otherName, password: "wrong" }),
      () => ({ userName: otherName, password }),
      () => Promise.reject(new Error("cancelled")),
    ];
    for (const answer of answers) {
      const client = await signedUp({ reauthenticate: answer });
      await operate("revoke-tokens", client.session?.userId ?? "");
      await assert.rejects(client.send(getOwnUser()), SessionEnded);
      assert.equal(client.sessions[0]?.state, "ended");
      await until(async () => (await tokensOf(other)) === 1);
    }
  });

  async function tokensOf(client: TestClient): Promise<number> {
    const { body } = await app.call("GET /users/me/tokens", { token: client.session?.handoff().token ?? "" });
    return body.result.pageResults.length;
  }

  it("a session stays valid when the sign-in with new credentials gets no response", async () => {
    const network = breakableNetwork();
    const userName = newName();
    const client = testClient(app, {
      fetch: (...request) => network.fetch(...request),
      retry: false,
      reauthenticate() {
        network.state = "off";
        return { userName, password };
      },
    });
    const { userId } = await client.signUp({ userName, password });
    await operate("revoke-tokens", userId);
    await assert.rejects(client.send(getOwnUser()), { name: "ConnectionError" });
    assert.equal(client.session?.state, "active");
  });

  it("a session is disabled while the service disables the user, and active again after the next success", async () => {
    const client = await signedUp();
    const { session } = client;
    assert.ok(session);
    await operate("disable", session.userId);
    await assert.rejects(client.send(getOwnUser()), { name: "AuthUserAccountDisabled" });
    await until(() => session.state === "disabled");
    assert.equal(client.session, session);
    await operate("enable", session.userId);
    await client.send(getOwnUser());
    await until(() => session.state === "active");
  });

  it("a session becomes invalid when its user is deleted", async () => {
    const client = await signedUp();
    await client.send(deleteUser("me"));
    await until(() => client.session === null && client.sessions.length === 0);
    await client.send(getDevice());
  });

  it("no proxy, captive portal, lost network or wrong clock signs a user out", async () => {
    const network = breakableNetwork();
    const clock = createSimulatedClock();
    const client = testClient(app, { fetch: (...request) => network.fetch(...request), retry: false }, clock);
    await client.signUp({ userName: newName(), password });
    for (const state of ["portal", "off"] as const) {
      network.state = state;
      await Promise.all(Array.from({ length: 10 }, () => client.send(getOwnUser()).catch(() => {})));
      assert.equal(client.session?.state, "active");
    }
    network.state = "on";
    for (const hours of [1, 24 * 400]) {
      await clock.advance(hours * 3_600_000);
      await client.send(getOwnUser());
      assert.equal(client.session?.state, "active");
    }
  });

  it("tokens are stored only in the store for secrets, in records of at most 1,000 bytes", async () => {
    const [store, secrets] = [memoryStore(), memoryStore()];
    const client = await signedUp({ store, secrets, device: { pushToken: "push me" } });
    await client.session?.signOut();
    await client.signUp({ userName: newName(), password, email: "ada@example.org" });
    const token = client.session?.handoff().token ?? "";
    for (const key of await secrets.list("")) {
      const text = (await secrets.get(key)) ?? "";
      assert.ok(new TextEncoder().encode(text).length <= 1_000, key);
      assert.ok(!text.includes("ada"), key);
    }
    assert.ok((await secrets.list("")).length > 0);
    for (const key of await store.list("")) {
      const text = `${key} ${await store.get(key)}`;
      for (const secret of [token, app.application.appkey, password, "push me"]) assert.ok(!text.includes(secret), key);
    }
  });
});

import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { inspect } from "node:util";
import type { NewApplication } from "../../server/src/applications/applications.store.ts";
import { longSessions, startTestApp, type TestApp, type TestOperator } from "../../server/test/harness.ts";
import { createCheckin, getOwnUser } from "../src/generated/calls.ts";
import { memoryStore } from "../src/identity/memory-store.ts";
import type { Store } from "../src/identity/store.ts";
import { connect } from "../src/nouns/connect.ts";
import type { RollcallOptions } from "../src/options.ts";
import { createAdmin } from "../src/parts/admin/admin.ts";
import { signing } from "../src/parts/signing/signing.ts";
import { createRollcall } from "../src/rollcall.ts";
import type { LogFields, Logger } from "../src/transport/logger.ts";
import { RollcallError } from "../src/wire/errors.ts";
import { testClient, until } from "./clients.ts";
import { createSimulatedClock } from "./simulated-clock.ts";

const signingSecret = "a secret that signs";
const password = "a password of ada";
const newPassword = "another password of ada";
const wrongPassword = "a password that is wrong";
const location = { lat: 48.2, lng: 16.37 };
const dayMs = 86_400_000;

let app: TestApp;
let application: NewApplication;
let operator: TestOperator;
before(async () => {
  app = await startTestApp(longSessions);
  application = await app.createApplication();
  operator = await app.createOperator();
  const { token } = operator;
  const path = `/_/api/applications/${application.appid}`;
  await app.call(`PUT ${path}/signing-secret`, { token, body: { secret: signingSecret } });
  await app.call(`PATCH ${path}/settings`, { token, body: { rehearsal: "on" } });
});
after(() => app.close());

/** All strings that an app, its logs and its observers see of a client, and the secrets that must not occur in them. */
class Observer {
  readonly #seen: string[] = [];
  readonly #secrets = new Set([signingSecret, password, newPassword, wrongPassword, application.appkey]);
  isOffline = false;

  /** The logger of a client with all messages. */
  readonly logger: Logger = {
    debug: (...line) => this.#log(line),
    info: (...line) => this.#log(line),
    warn: (...line) => this.#log(line),
    error: (...line) => this.#log(line),
  };

  #log(line: [message: string, fields: LogFields]): void {
    this.see(...line);
  }

  /** Sends requests, and records their addresses, their tokens and the tokens in their answers. */
  readonly fetch: typeof fetch = async (input, init) => {
    const url = `${input}`;
    this.see(url);
    for (const word of (new Headers(init?.headers).get("authorization") ?? "").split(" ").slice(1)) this.#add(word);
    if (this.isOffline) throw new TypeError("fetch failed");
    const response = await fetch(input, init);
    if (response.headers.get("content-type")?.includes("json") !== true) return response;
    const text = await response.text();
    for (const [, secret = ""] of text.matchAll(/"(?:accessToken|serverSignature|token)":"([^"]+)"/g))
      this.#add(secret);
    return new Response(text, response);
  };

  /** Inspects values as an app may print, send or store them. */
  see(...values: readonly unknown[]): void {
    for (const value of values) {
      const printed = inspect(value, { depth: null, getters: true, maxStringLength: null, maxArrayLength: null });
      this.#seen.push(printed, `${value}`, JSON.stringify(value) ?? "");
      if (value instanceof Error) this.see(value.message, value.stack, { ...value });
    }
  }

  /** The error of a call that must fail. */
  async failing(work: Promise<unknown>, name: string): Promise<void> {
    const error = await work.then(
      () => assert.fail(`no ${name}`),
      (error: unknown) => error,
    );
    assert.ok(error instanceof RollcallError);
    assert.equal(error.name, name, `${error}`);
    this.see(error);
    if (error.cause !== undefined) this.see(error.cause);
  }

  #add(secret: string): void {
    if (secret.length > 8) this.#secrets.add(secret);
  }

  check(): void {
    assert.ok(this.#secrets.size > 5, "tokens were seen on the way");
    for (const text of this.#seen) {
      for (const secret of this.#secrets) assert.ok(!text.includes(secret), `${secret} is in ${text}`);
    }
  }
}

async function readAll(store: Store): Promise<unknown[]> {
  return Promise.all((await store.list("")).map((key) => store.get(key)));
}

describe("a client writes no token, key, password or signing secret to its output, to addresses or to its store", () => {
  it("from sign-in to sign-out, with every refusal and every lost response", async (context) => {
    const observer = new Observer();
    for (const method of ["debug", "info", "log", "warn", "error"] as const) {
      context.mock.method(console, method, (...line: unknown[]) => observer.see(...line));
    }
    const clock = createSimulatedClock();
    const [store, secrets] = [memoryStore(), memoryStore()];
    const options: Partial<RollcallOptions> = {
      ...{ store, secrets, retry: false, fetch: observer.fetch, logger: observer.logger },
      device: { pushToken: "the address of a device" },
      reauthenticate: async (ended) => {
        observer.see(ended);
        return { userName: ended.userName, password: wrongPassword };
      },
    };
    const client = testClient({ url: app.url, application }, options, clock);
    const signer = signing(client, { secret: signingSecret });
    for (const event of ["signedIn", "signedOut", "sessionEnded", "renewed", "deviceRejected", "warning"] as const) {
      client.on(event, (what) => observer.see(what));
    }
    client.intercept({
      attempt(request, next) {
        observer.see(request.headers.get("authorization"), request);
        return next();
      },
    });

    const ada = { userName: "ada", password };
    const session = await client.signUp(ada);
    await observer.failing(client.signUp(ada), "ItemAlreadyExists");
    await observer.failing(client.signIn({ ...ada, password: wrongPassword }), "AuthBadUsernameOrPassword");
    await observer.failing(client.signUp({ userName: "", password: newPassword }), "ParameterMissingRequiredValue");
    await client.users.changePassword({ currentPassword: password, password: newPassword });
    const wrongChange = client.users.changePassword({ currentPassword: wrongPassword, password });
    await observer.failing(wrongChange, "AuthBadUsernameOrPassword");
    const reset = client.resetPassword({ userName: "ada", resetCode: "ABCDEFGH", newPassword });
    await observer.failing(reset, "ParameterOutOfRange");

    const headers = { Authorization: `Service ${session.handoff().token}` };
    await observer.failing(client.checkins.create({ location }, { headers }), "ConfigurationError");
    const blob = await client.blobs.create(new Blob(["hello"]), { friendlyName: "greeting" });
    assert.equal(await (await client.blobs.download(blob.id, { verify: true })).text(), "hello");
    const batch = client.batch({ mode: "atomic" });
    batch.add(createCheckin({ location }));
    batch.add(createCheckin({ location: { lat: 100, lng: 0 } }));
    await observer.failing(batch.send(), "BatchFailed");
    for (const rehearsed of ["cut", "html", "truncated"] as const) {
      const work = client.checkins.create({ location }, { headers: { "Rollcall-Rehearse": rehearsed } });
      await observer.failing(work, rehearsed === "html" ? "UnexpectedAnswer" : "ConnectionError");
    }
    observer.isOffline = true;
    await observer.failing(client.signIn({ ...ada, password: newPassword }), "ConnectionError");
    await observer.failing(client.blobs.create(new Blob(["lost"])), "ConnectionError");
    observer.isOffline = false;

    const { token } = session.handoff();
    app.advance(16 * dayMs);
    await clock.advance(16 * dayMs);
    await client.users.me();
    await until(() => session.handoff().token !== token);
    const created: unknown = Object.getPrototypeOf(client); // the state of the app, without the additions of the test
    observer.see(created, session, client.sessions, client.device, signer, await client.users.me());

    const { token: renewed } = session.handoff();
    const ofServer = connect({ url: app.url, token: renewed, fetch: observer.fetch, logger: observer.logger });
    observer.see(ofServer);
    await session.signOut({ everywhere: true });
    await observer.failing(ofServer.send(getOwnUser(), { retry: false }), "AuthAccessTokenInvalid");

    const again = await client.signIn({ ...ada, password: newPassword });
    const revoke = `/_/api/applications/${application.appid}/users/${again.userId}/revoke-tokens`;
    assert.equal((await app.call(`POST ${revoke}`, { token: operator.token, body: {} })).status, 200);
    await observer.failing(client.users.me(), "SessionEnded");
    observer.see(...client.sessions, ...(await readAll(store)));
    await client.close();
    await observer.failing(client.users.me(), "AbortError");
    observer.check();
  });

  it("for operators, for apps with invalid options, and for devices that are refused", async () => {
    const observer = new Observer();
    const { name, password: ofOperator } = await app.createOperator("scanned");
    const admin = createAdmin({ url: app.url, fetch: observer.fetch, logger: observer.logger });
    await observer.failing(admin.signIn({ name, password: wrongPassword }), "AuthFailed");
    await admin.signIn({ name, password: ofOperator });
    observer.see(admin);
    const url = `https://ada:${wrongPassword.replaceAll(" ", "")}@example.com`;
    for (const wrong of [{ url }, { appkey: "" }, { retry: { repeats: 1_000 } }, { scheme: "two words" }]) {
      assert.throws(
        () => createRollcall({ url: app.url, ...application, ...wrong }),
        (error) => {
          observer.see(error);
          assert.ok(!`${error}`.includes(wrongPassword.replaceAll(" ", "")));
          return true;
        },
      );
    }
    const { fetch, logger } = observer;
    const refused = testClient(
      { url: app.url, application: { ...application, appkey: wrongPassword } },
      { fetch, logger },
    );
    await observer.failing(refused.start(), "AuthAppCredentialsInvalid");
    const failing = testClient(
      { url: app.url, application },
      { fetch, logger, appkey: () => Promise.reject(new Error("the vault is closed")) },
    );
    await observer.failing(failing.start(), "ConfigurationError");
    const wrongSecret = testClient({ url: app.url, application }, { fetch, logger });
    signing(wrongSecret, { secret: wrongPassword });
    await observer.failing(wrongSecret.start(), "ConfigurationError");
    for (const client of [refused, failing, wrongSecret]) observer.see(Object.getPrototypeOf(client));
    observer.check();
  });
});

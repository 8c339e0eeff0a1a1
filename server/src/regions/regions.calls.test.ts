import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer, type IncomingMessage, type RequestListener, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { buffer } from "node:stream/consumers";
import { after, before, describe, it } from "node:test";
import {
  type Answer,
  assertError,
  assertResult,
  openRaw,
  send,
  startTestApp,
  type TestApp,
} from "../../test/harness.ts";
import { passSteadyTime } from "../../test/steady-clock.ts";
import { keysOfRegion } from "../config/region-keys.ts";
import { createSigner } from "../lib/signer.ts";
import { putApplicationRegion } from "./regions.directory.store.ts";
import { messageBytesMax } from "./regions.exchange.ts";
import { answerHeader, type CallHead, callHeader, createCallSignatures, digestOf } from "./regions.signatures.ts";

/** Calls between regions with an attacker in the middle: without REGION_SECRET a region can neither call nor answer. */

const secret = "a secret between regions";
const refusal = "Only other regions may call this, with a signature.";
const names = new Set(["main", "eu", "us"]);
/** Creates the signatures of a region eu with these entries of REGION_SECRET. */
const signaturesOf = (...regionSecrets: string[]) =>
  createCallSignatures({ region: "eu", regions: names, regionSecrets });
const signatures = signaturesOf(secret);
let test: TestApp;
let eu: Server;
/** Handles a call in place of the other region. */
let answer: RequestListener;
let calls: IncomingMessage[];
let appid: string;
let settings: Readonly<Record<string, string>>;
const skip = process.env["TEST_DATABASE_URL"] === undefined && "processes on one SQLite file do not share nonces";
before(async () => {
  eu = createServer((request, reply) => {
    calls.push(request);
    answer(request, reply);
  }).listen(0, "127.0.0.1");
  await once(eu, "listening");
  // The server listens on a port.
  const euRoot = `http://127.0.0.1:${(eu.address() as AddressInfo).port}/behind/a/proxy`;
  settings = {
    REGIONS: `main=http://main.example,eu=${euRoot},us=http://us.example`,
    REGION_SECRET: `${secret}, another secret between`,
    REGION_TIMEOUT_MS: "3000",
  };
  test = await startTestApp(settings);
  appid = test.app.ids.newId("App");
  const row = { application_id: appid, region: "eu", state: "there", changed_at: 0 } as const;
  await test.app.database.write(({ queries }) => putApplicationRegion(row, queries));
});
after(async () => {
  await test.close();
  eu.closeAllConnections();
  eu.close();
});

const registration = () => ({ body: { appid, appkey: "rk_key", platform: "test" } });

/** Registers a device after the backoff for the failed region has passed. */
async function register(): Promise<Answer> {
  calls = [];
  passSteadyTime(1_000);
  const answered = await test.call("POST /devices", registration());
  assert.ok(calls.length > 0, "the backoff has passed");
  return answered;
}

function headOf({ headers, url }: IncomingMessage): CallHead {
  const head = signatures.read(url?.split("/").at(-1) ?? "", `${headers[callHeader]}`);
  assert.ok(head, "the call is signed");
  return head;
}

/** Answers with a valid signature. */
function answerWith(value: unknown, change: (head: CallHead) => CallHead = (head) => head): RequestListener {
  return (request, reply) => {
    request.resume();
    const body = Buffer.from(JSON.stringify(value));
    reply.setHeader(answerHeader, signatures.signAnswer(change(headOf(request)), body)).end(body);
  };
}

const token = { accessToken: "eu.token", accessTokenExpires: "/Date(1)/", serviceRoot: "http://eu.example" };

// spec/regions#unreachable-regions
describe("a call of the main region to another region", () => {
  it("goes to the root in REGIONS, signed, with the parameters and the address of the client", async () => {
    let sent: { body: Buffer; head: CallHead } | undefined;
    answer = async (request, reply) => {
      sent = { body: await buffer(request), head: headOf(request) };
      answerWith({ result: { result: JSON.stringify(token) } })(request, reply);
    };
    assertResult(await register(), 201, token);
    assert.equal(calls[0]?.url, "/behind/a/proxy/_/regions/registerDevice");
    const { nonce, ...head } = sent?.head ?? { nonce: "" };
    const digest = digestOf(sent?.body ?? Buffer.alloc(0));
    assert.deepEqual(head, { name: "registerDevice", from: "main", to: "eu", at: test.now(), digest });
    assert.match(nonce, /^[\w-]{24}$/);
    const { requestId, ...message } = JSON.parse(`${sent?.body}`);
    const parameters = Object.entries(registration().body);
    assert.deepEqual(message, { appid, address: "127.0.0.1", parameters });
    assert.match(requestId, /^[\w-]+$/);
  });

  it("passes on a refusal unchanged, and an unknown condition as ServiceUnavailable", async () => {
    const refused = (condition: string, more: object = {}) =>
      answerWith({ refused: { condition, message: "Why.", ...more } });
    answer = refused("AuthAPICallDisabledByDeveloper");
    assertError(await register(), 403, "AuthAPICallDisabledByDeveloper", 257, "Why.");
    answer = refused("RateLimitExceeded", { retryAfterSeconds: 7 });
    const limited = await register();
    assertError(limited, 429, "RateLimitExceeded", 1282, "Why.");
    assert.equal(limited.headers["retry-after"], "7");
    answer = refused("constructor");
    assertError(await register(), 503, "ServiceUnavailable", 1284, "Why.");
  });

  it("fails with ServiceUnavailable for any answer without a valid signature, however large or slow", async () => {
    const forged: Readonly<Record<string, RequestListener>> = {
      "no signature": (_, reply) => reply.end(JSON.stringify({ result: { result: JSON.stringify(token) } })),
      "a forged one": (_, reply) => reply.setHeader(answerHeader, "A".repeat(43)).end("{}"),
      "that of another call": answerWith({ result: {} }, (head) => ({ ...head, nonce: "of another call" })),
      "that of another region": answerWith({ result: {} }, (head) => ({ ...head, to: "us" })),
      "the call's own": (request, reply) =>
        reply.setHeader(answerHeader, `${request.headers[callHeader]}`.split(" ").at(-1) ?? "").end("{}"),
      "a redirect": (_, reply) => reply.writeHead(307, { location: `${test.url}/service/ping` }).end(),
      "an error": (_, reply) => reply.writeHead(500).end("Internal Server Error"),
      garbage: (request) => request.socket.end("HTTP/9 garbage\r\n\r\n"),
      nothing: (request) => request.socket.destroy(),
      "nothing, ever": () => {},
      "a byte now and then": (request, reply) => {
        const timer = setInterval(() => reply.write(" "), 20);
        request.socket.on("close", () => clearInterval(timer));
      },
      "more than the limit": (request, reply) => {
        const chunk = Buffer.alloc(1_048_576, " ");
        let left = messageBytesMax + 2 * chunk.length;
        const write = () => {
          for (; left > 0; left -= chunk.length) if (!reply.write(chunk)) return;
          reply.end();
        };
        reply.on("drain", write);
        request.resume().on("end", write);
      },
    };
    for (const [what, listener] of Object.entries(forged)) {
      answer = listener;
      const answered = await register();
      assertError(answered, 503, "ServiceUnavailable", 1284, "The region eu cannot be reached. Try again.");
      assert.equal(answered.headers["retry-after"], "1", what);
    }
    assert.ok(!JSON.stringify(test.logLines).includes("rk_key"));
  });

  it("fails for signed answers without a token, and does not follow redirects in circles", async () => {
    for (const result of [null, 1, "x", [], { result: 1 }, { movedTo: "main" }, { movedTo: "mars" }, { movedTo: {} }]) {
      answer = answerWith({ result });
      assert.equal((await register()).status, 503);
      assert.equal(calls.length, 1);
    }
    answer = answerWith({ result: { movedTo: "eu" } });
    assert.equal((await register()).status, 503);
    assert.equal(calls.length, 3);
  });

  it("is not sent for a second after a failure, so that callers do not wait for an unreachable region", async () => {
    answer = () => {};
    await register();
    calls = [];
    const asked = Array.from({ length: 50 }, () => test.app.regionCalls.call("eu", "registerDevice", {}));
    for (const each of await Promise.allSettled(asked)) assert.equal(each.status, "rejected");
    assert.equal(calls.length, 0);
    assert.deepEqual(test.app.regionCalls.unreachableSince(test.now() - 1), ["eu"]);
    assert.deepEqual(test.app.regionCalls.unreachableSince(test.now()), []);
  });
});

// spec/regions#forwarded-registrations
describe("a call of another region", () => {
  const head = (more: Partial<CallHead> = {}): CallHead => ({
    name: "findRegion",
    from: "eu",
    to: "main",
    at: test.now(),
    nonce: `nonce${Math.random()}`,
    digest: digestOf(body()),
    ...more,
  });
  const body = () => Buffer.from(JSON.stringify({ appid }));
  const ask = (header: string | undefined, path = "/_/regions/findRegion", sent: Buffer = body()) =>
    send(test.port, "POST", path, { body: sent, ...(header !== undefined && { headers: { [callHeader]: header } }) });

  it("is answered if it is signed with one of the secrets, and the answer is signed too", async () => {
    for (const each of [secret, "another secret between"]) {
      const call = head();
      const { status, headers, text } = await ask(signaturesOf(each).sign(call));
      assert.deepEqual([status, text], [200, '{"result":"eu"}']);
      assert.ok(signatures.isAnswer(call, Buffer.from(text), `${headers[answerHeader]}`));
    }
  });

  it("is refused by every process if one of them has accepted it", { skip }, async (t) => {
    const other = await startTestApp({ ...settings, DATABASE_URL: test.config.databaseUrl });
    t.after(() => other.close());
    const options = { body: body(), headers: { [callHeader]: signatures.sign(head()) } };
    const answers = await Promise.all(
      [test, other].map(({ port }) => send(port, "POST", "/_/regions/findRegion", options)),
    );
    assert.deepEqual(answers.map(({ status }) => status).sort(), [200, 401]);
  });

  it("is refused before its body is read if its signature is invalid or was used before", async () => {
    const good = signatures.sign(head());
    assert.equal((await ask(good)).status, 200);
    const wrong: Readonly<Record<string, string | undefined>> = {
      "none at all": undefined,
      "an empty one": "",
      "a replayed one": good,
      "of another secret": signaturesOf("a secret of another deployment").sign(head()),
      "an answer's": `${good.slice(0, good.lastIndexOf(" "))} ${signatures.signAnswer(head(), body())}`,
      "too old": signatures.sign(head({ at: test.now() - 60_001 })),
      "from the future": signatures.sign(head({ at: test.now() + 60_001 })),
      "without a time": signatures.sign(head({ at: Number.NaN })),
      "for another region": signatures.sign(head({ to: "eu" })),
      "of an unknown region": signatures.sign(head({ from: "mars" })),
      "of this region itself": signatures.sign(head({ from: "main" })),
      "of another call": signatures.sign(head({ name: "setRegion" })),
      "a stream's": signatures.sign(head({ digest: `stream:${appid}` })),
      "with an extra word": `${signatures.sign(head())} more`,
      "cut off": signatures.sign(head()).slice(0, -1),
      "with another time": signatures.sign(head()).replace(` ${test.now()} `, ` ${test.now() + 1} `),
      "too long": "a ".repeat(5_000),
    };
    for (const [what, header] of Object.entries(wrong)) {
      assertError(await ask(header), 401, "AuthFailed", 256, refusal);
      assert.ok(what);
    }
    const client = openRaw(test.port);
    client.write(`POST /_/regions/findRegion HTTP/1.1\r\nhost: a\r\ncontent-length: 1000000000\r\n\r\n`);
    assert.equal((await client.receive())?.status, 401);
    client.close();
  });

  it("has no effect if its body differs from the signed one", async () => {
    const call = head({ name: "setRegion", digest: digestOf(Buffer.from(JSON.stringify({ appid, region: "eu" }))) });
    const forged = Buffer.from(JSON.stringify({ appid, region: "main", was: "eu" }));
    const { text } = await ask(signatures.sign(call), "/_/regions/setRegion", forged);
    assert.match(text, /"refused":\{"condition":"ParameterIncorrectFormat"/);
    assert.equal(await test.app.regions.hostOf(appid), "eu");
  });

  it("cannot change applications of other regions, or create applications in the main region", async () => {
    const askFor = async (name: string, message: object, from = "eu") => {
      const sent = Buffer.from(JSON.stringify(message));
      return (await ask(signatures.sign(head({ name, from, digest: digestOf(sent) })), `/_/regions/${name}`, sent))
        .text;
    };
    const local = test.application.appid;
    assert.match(await askFor("createApplication", { appid, appkey: "rk_x", name: "x" }), /AuthFailed/);
    assert.match(await askFor("deleteApplication", { appid: local }), /AuthFailed/);
    assert.match(await askFor("makeRoom", { appid: local }), /ItemAlreadyExists/);
    assert.match(await askFor("dropApplication", { appid: local }), /ItemAlreadyExists/);
    assert.equal(await askFor("findRegion", { appid: local }), '{"result":"main"}');
    assert.equal(await askFor("openApplication", { appid: test.app.ids.newId("App") }), '{"result":false}');
    assert.match(await askFor("setRegion", { appid: local, region: "eu", was: "main" }), /ObjectPermissionDenied/);
    assert.match(await askFor("setRegion", { appid, region: "main", was: "eu" }), /ObjectPermissionDenied/);
    assert.match(await askFor("setRegion", { appid, region: "mars", was: "eu" }), /ParameterOutOfRange/);
    assert.match(await askFor("registerDevice", { appid, requestId: "x" }), /\{"result":\{"movedTo":"eu"\}\}/);
    for (const name of ["constructor", "__proto__", "toString", "x", "a%0ab"]) {
      assert.equal((await ask(signatures.sign(head({ name })), `/_/regions/${name}`)).status, 404);
    }
    assert.equal((await test.call("GET /_/regions/findRegion")).status, 404);
    assert.equal((await test.registerDevice()).split(".")[0], "main");
  });

  it("is refused in a signed answer if its message is invalid", async () => {
    for (const text of ["", "{", "null", "[]", '"x"', '{"appid":1}', '{"appid":"usr_1"}']) {
      const sent = Buffer.from(text);
      const call = head({ digest: digestOf(sent) });
      const answered = await ask(signatures.sign(call), undefined, sent);
      assert.match(answered.text, /^\{"refused":\{"condition":"Parameter/, text);
      assert.ok(signatures.isAnswer(call, Buffer.from(answered.text), `${answered.headers[answerHeader]}`));
    }
  });
});

// spec/regions#region-keys
describe("a region that has its own keys instead of the shared secret", () => {
  const [ofMain = "", ofUs = ""] = keysOfRegion("eu", ["main", "us"], [secret]);
  const keyed = signaturesOf(ofMain, ofUs);
  const body = Buffer.from("{}");
  const headFrom = (from: string, to = "main"): CallHead => {
    const nonce = `nonce${Math.random()}`;
    return { name: "findRegion", from, to, at: test.now(), nonce, digest: digestOf(body) };
  };
  const ask = (header: string) =>
    send(test.port, "POST", "/_/regions/findRegion", { body, headers: { [callHeader]: header } });

  it("signs calls in its own name, and verifies the answers", async () => {
    const call = headFrom("eu");
    const { status, headers, text } = await ask(keyed.sign(call));
    assert.equal(status, 200);
    assert.ok(keyed.isAnswer(call, Buffer.from(text), `${headers[answerHeader]}`));
  });

  it("cannot sign as another region, with any of its keys or for any purpose", async () => {
    assert.throws(() => keyed.sign(headFrom("us")), /no key/);
    const keys = [ofMain, ofUs].map((entry) => entry.split(":")[2] ?? "");
    for (const key of [...keys, ofMain, ofUs]) {
      for (const purpose of [
        "call from us to main",
        "call from eu to main",
        "call from eu to us",
        "call between regions",
      ]) {
        const [unsigned] = [signatures.sign(headFrom("us"))].map((header) => header.split(" ").slice(0, -1));
        const text = ["findRegion", ...(unsigned ?? [])].join("\n");
        const header = [...(unsigned ?? []), createSigner([key], purpose).sign(text)].join(" ");
        assertError(await ask(header), 401, "AuthFailed", 256, refusal);
      }
      const pretending = createCallSignatures({
        region: "us",
        regions: names,
        regionSecrets: [`key:main:${key.slice(-43)}`],
      });
      assertError(await ask(pretending.sign(headFrom("us"))), 401, "AuthFailed", 256, refusal);
    }
    // The same header, signed by a region with permission, is accepted.
    assert.equal((await ask(signatures.sign(headFrom("us")))).status, 200);
  });

  it("cannot answer for another region, nor impersonate the main region", () => {
    const call = headFrom("main", "us");
    const answers = createSigner([ofUs.split(":")[2] ?? ""], "answer from main to us");
    const main = createCallSignatures({ region: "main", regions: names, regionSecrets: [secret] });
    for (const signer of [answers, createSigner([ofMain], "answer between regions")]) {
      assert.ok(!main.isAnswer(call, body, signer.sign("whatever")));
    }
    assert.throws(() => keyed.signAnswer(call, body), /no key/);
    assert.throws(() => keyed.sign(call), /no key/);
    const us = createCallSignatures({ region: "us", regions: names, regionSecrets: [secret] });
    const forged = createCallSignatures({ region: "main", regions: names, regionSecrets: [ofUs] });
    assert.equal(us.read(call.name, forged.sign(call)), undefined);
    assert.ok(us.read(call.name, main.sign(call)));
  });

  it("rotates keys: it signs with the first, and accepts all", async () => {
    const next = keysOfRegion("eu", ["main", "us"], ["another secret between", secret]);
    assert.equal((await ask(signaturesOf(...next).sign(headFrom("eu")))).status, 200);
  });
});

describe("a call of a release without keys for each direction", () => {
  it("is accepted and answered in its own format, if it is signed with the shared secret", async () => {
    const body = Buffer.from("{}");
    const words = ["eu", "main", `${test.now()}`, "nonceOfAFormerRelease", digestOf(body)];
    const text = ["findRegion", ...words].join("\n");
    const header = [...words, createSigner([secret], "call between regions").sign(text)].join(" ");
    const answered = await send(test.port, "POST", "/_/regions/findRegion", {
      body,
      headers: { [callHeader]: header },
    });
    assert.equal(answered.status, 200);
    const answerText = [text, digestOf(Buffer.from(answered.text))].join("\n");
    const answers = createSigner([secret], "answer between regions");
    assert.ok(answers.isSigned(answerText, `${answered.headers[answerHeader]}`));
    const [ofMain = ""] = keysOfRegion("us", ["main"], [secret]);
    const keyed = createCallSignatures({
      region: "main",
      regions: names,
      regionSecrets: [ofMain.replace("main", "us")],
    });
    assert.equal(keyed.read("findRegion", header), undefined);
  });
});

// spec/regions#registration-in-another-region
describe("a deployment without REGIONS", () => {
  it("answers no calls of regions, and returns the address of a remote region at a registration", async () => {
    const alone = await startTestApp({ REGION: "eu", PUBLIC_URL: "https://eu.example/" });
    const { body } = await alone.call("POST /devices", { body: { ...alone.application, platform: "test" } });
    assert.equal(body.result.serviceRoot, "https://eu.example");
    assert.equal((await alone.call("POST /_/regions/findRegion")).status, 404);
    await alone.close();
  });
});

// Runs on one engine: it tests HTTP, before any statement.
import assert from "node:assert/strict";
import { after, afterEach, before, describe, it } from "node:test";
import {
  type Answer,
  assertError,
  assertResult,
  openRaw,
  send,
  startTestApp,
  type TestApp,
  type TestUser,
} from "../../test/harness.ts";

/**
 * hostile.md 17 and 18, as far as they concern HTTP. Every request is answered in time, and the process stays healthy.
 */

let test: TestApp;
let user: TestUser;
before(async () => {
  test = await startTestApp({ REQUEST_TIMEOUT_MS: "500" });
  user = await test.signUp();
});
afterEach(async () => {
  assertResult(await test.call("GET /_/health/ready"), 200, "ready");
});
after(async () => {
  const failures = test.logLines.filter(({ level }) => Number(level) >= 50);
  await test.close();
  assert.deepEqual(failures, []);
});

/**
 * Sends bytes and returns all responses until the server closes the connection; with `finish`, half-closes it first.
 */
async function exchange(bytes: string | Buffer, finish = false): Promise<Answer[]> {
  const connection = openRaw(test.port);
  connection.write(bytes);
  if (finish) connection.finish();
  const answers: Answer[] = [];
  for (let answer = await connection.receive(); answer !== undefined; answer = await connection.receive()) {
    answers.push(answer);
  }
  return answers;
}

const host = "Host: a\r\n";
function checkInHead(headers: string): string {
  return `POST /checkins HTTP/1.1\r\n${host}Authorization: Service ${user.token}\r\n${headers}\r\n\r\n`;
}

async function countCheckins(): Promise<number> {
  const { reads } = test.app.database;
  return (await reads.selectFrom("checkins").select("id").execute()).length;
}

const notHttp = [400, "ParameterIncorrectFormat", 515, "The request is not valid HTTP."] as const;
const tooLate = [400, "ParameterIncorrectFormat", 515, "The request did not arrive in time."] as const;

describe("a wrong Content-Length (17)", () => {
  const body = '{"location":"1,2","comment":"lie"}';

  it("makes the body invalid JSON if it is too short, and the rest is not parsed", async () => {
    const before = await countCheckins();
    const answers = await exchange(checkInHead("Content-Length: 5") + body, true);
    assert.ok(answers.length > 0);
    for (const answer of answers) assert.ok([400, 404].includes(answer.status) && answer.body.success === false);
    assert.equal(await countCheckins(), before);
  });

  it("is refused within the time-out if it is too long and the client disconnects or waits, and no row is stored", async () => {
    const before = await countCheckins();
    const [gone] = await exchange(checkInHead(`Content-Length: ${body.length + 10}`) + body, true);
    assert.ok(gone);
    assertError(gone, ...notHttp);
    const [waiting] = await exchange(checkInHead(`Content-Length: ${body.length + 10}`) + body);
    assert.ok(waiting);
    assertError(waiting, ...tooLate);
    assert.equal(await countCheckins(), before);
  });

  it("is refused before the body arrives if it is far too long", async () => {
    for (const length of ["1048577", "99999999999", "9007199254740993"]) {
      const connection = openRaw(test.port);
      connection.write(checkInHead(`Content-Length: ${length}`));
      const answer = await connection.receive();
      assert.ok(answer);
      assertError(answer, 413, "RequestTooLarge", 1281, "The body is larger than 1048576 bytes.");
      connection.close();
    }
  });

  it("is invalid HTTP if it is not a number, duplicate, or combined with chunks, and a smuggled request is never executed", async () => {
    const hidden = `GET /service/ping HTTP/1.1\r\n${host}\r\n`;
    const heads = [
      "Content-Length: -1",
      "Content-Length: 1e2",
      "Content-Length: 0x10",
      "Content-Length: 99999999999999999999999",
      "Content-Length: 4\r\nContent-Length: 5",
      "Content-Length: 4, 5",
      "Content-Length: 4\r\nTransfer-Encoding: chunked",
      "Transfer-Encoding: chunked\r\nContent-Length: 4",
      "Transfer-Encoding: chunked, identity",
      "Transfer-Encoding: nonsense",
      "Transfer-Encoding : chunked",
    ];
    for (const head of heads) {
      const answers = await exchange(`${checkInHead(head)}0\r\n\r\n${hidden}`, true);
      assert.equal(answers.length, 1, head);
      assert.ok(answers[0]);
      assertError(answers[0], ...notHttp);
    }
  });
});

// spec/transport#broken-requests
describe("requests that do not arrive completely (17)", { concurrency: true }, () => {
  const halves = {
    "nothing at all": () => "",
    "half a head": () => `GET /users/me HTTP/1.1\r\n${host}Authoriz`,
    "half a body": () => `${checkInHead("Content-Length: 100")}{"location":`,
    "half a chunk": () => `${checkInHead("Transfer-Encoding: chunked")}64\r\n{"location":`,
    "chunks without an end": () => `${checkInHead("Transfer-Encoding: chunked")}2\r\n{"\r\n`,
    "half a body that is not read": () => `POST /nowhere HTTP/1.1\r\n${host}Content-Length: 100\r\n\r\n{`,
  };
  for (const [name, bytes] of Object.entries(halves)) {
    it(`are refused and their connection is closed within the request time-out: ${name}`, async () => {
      const startedAt = performance.now();
      const [answer] = await exchange(bytes());
      assert.ok(answer);
      if (answer.status !== 404) assertError(answer, ...tooLate);
      assert.ok(performance.now() - startedAt < 20_000); // a busy machine is late, but below the default time-out
    });
  }

  it("are refused at the time-out even if their body still arrives byte by byte", async () => {
    const connection = openRaw(test.port);
    connection.write(`${checkInHead("Transfer-Encoding: chunked")}1\r\n{\r\n`);
    const trickle = setInterval(() => connection.write("1\r\n \r\n"), 20);
    try {
      const answer = await connection.receive();
      assert.ok(answer);
      assertError(answer, ...tooLate);
    } finally {
      clearInterval(trickle);
      connection.close();
    }
  });

  it("are refused immediately if the client half-closes the connection, and dropped if the connection breaks", async () => {
    const before = await countCheckins();
    for (const bytes of Object.values(halves).slice(2, 5)) {
      const [answer] = await exchange(bytes(), true);
      assert.ok(answer);
      assertError(answer, ...notHttp);
    }
    for (const bytes of Object.values(halves)) {
      const connection = openRaw(test.port);
      connection.write(bytes());
      await test.call("GET /service/ping"); // the server has seen it
      connection.close();
    }
    assert.equal(await countCheckins(), before);
  });
});

// spec/transport#broken-requests
describe("input that is not HTTP (17)", () => {
  it("is refused with the envelope", async () => {
    const requests = [
      `GET /service/ping HTTP/1.1\r\n${host}a\0b: c\r\n\r\n`,
      `GET /service/ping HTTP/1.1\r\n${host}a: b\0c\r\n\r\n`,
      `GET /service/ping HTTP/1.1\r\n${host}no colon\r\n\r\n`,
      `GET /service/ping HTTP/1.1\r\n${host} folded: x\r\n\r\n`,
      `GET /a b HTTP/1.1\r\n${host}\r\n`,
      `GET /a\0b HTTP/1.1\r\n${host}\r\n`,
      `GET service/ping HTTP/1.1\r\n${host}\r\n`,
      Buffer.from(`GET /users/identities/／/x HTTP/1.1\r\n${host}\r\n`), // not escaped
      `GET /service/ping HTTP/3.0\r\n${host}\r\n`,
      `GET /service/ping HTTPS/1.1\r\n${host}\r\n`,
      `${checkInHead("Transfer-Encoding: chunked")}zz\r\n{}\r\n0\r\n\r\n`,
      `${checkInHead("Transfer-Encoding: chunked")}ffffffffffffffffff\r\n{}\r\n0\r\n\r\n`,
    ];
    for (const request of requests) {
      const [answer] = await exchange(request, true);
      assert.ok(answer, `${request}`);
      assertError(answer, ...notHttp);
    }
    for (const bytes of [
      "\x16\x03\x01\x02\0\x01\0\x01\xfc\x03\x03",
      "\0\0\0\0",
      "SSH-2.0-OpenSSH_9.6\r\n",
      "{}\r\n\r\n",
    ]) {
      const [answer] = await exchange(Buffer.from(bytes, "latin1"), true);
      assert.ok(answer?.body.success === false && answer.status < 500, bytes);
    }
  });

  it("does not change the order of the responses to two pipelined requests", async () => {
    const body = '{"location":"1,2"}';
    const ping = `GET /service/ping HTTP/1.1\r\n${host}`;
    const requests = [`${ping}\r\n`, `${checkInHead(`Content-Length: ${body.length}`)}${body}`, `${ping}\r\n`];
    const answers = await exchange(`${requests.join("")}${ping}Connection: close\r\n\r\n`);
    assert.deepEqual(
      answers.map(({ status, body }) => [status, typeof body.result]),
      [
        [200, "string"],
        [201, "object"],
        [200, "string"],
        [200, "string"],
      ],
    );
  });

  it("does not harm the server with two hundred kilobytes of empty lines or five hundred headers", async () => {
    const ping = `GET /service/ping HTTP/1.1\r\n${host}Connection: close\r\n`;
    await exchange(`${"\r\n".repeat(100_000)}${ping}\r\n`);
    const headers = Array.from({ length: 500 }, (_, n) => `x${n}: y\r\n`).join("");
    assert.equal((await exchange(`${ping}${headers}\r\n`))[0]?.body.result, "Pong");
  });
});

describe("paths (18)", () => {
  const paths: [path: string, status: number][] = [
    ["/users/../users/me", 404],
    ["/users/./me", 404],
    ["/../../etc/passwd", 404],
    ["/%2e%2e/%2e%2e/etc/passwd", 404],
    ["/users/%2e%2e/users/me", 404],
    ["/users/%2e/me", 404],
    ["/users%2fme", 404],
    ["/users%5cme", 404],
    ["/users\\me", 404],
    ["/users/me%00", 400],
    ["/users/me/%00", 404],
    ["/users/me%2f", 400],
    ["/users/m%65", 200],
    ["/users/m%2565", 400],
    ["/users／me", 404],
    ["/users∕me", 404],
    ["/users/ｍe", 400],
    ["/_/docs/..%2f..%2fpackage.json", 404],
    ["/_/docs/%252e%252e/package.json", 404],
    ["/checkins/..", 400],
    ["/checkins/%2e%2e", 400],
    ["/checkins/%00", 400],
    ["/checkins/..%2f..%2fusers%2fme", 400],
    ["/checkins/%252e%252e%252f", 400],
    ["/checkins/%zz", 400],
    ["/%zz", 400],
    ["/%", 400],
    ["/%c0%ae%c0%ae/users/me", 400],
    ["/%ed%a0%80", 400],
    [`/users/identities/${"a".repeat(257)}/x`, 400],
    [`/checkins/${"a".repeat(8_192)}`, 400],
    [`/checkins/${"%2e".repeat(4_000)}`, 400],
    [`/${"a".repeat(8_192)}`, 404],
    [`/${"a/".repeat(4_096)}`, 404],
    [`/users${"/".repeat(8_192)}me`, 200],
    [`/users/me${"/".repeat(8_192)}`, 200],
    [`/${"a".repeat(20_480)}`, 413],
    [`/checkins?pagingToken=${"a".repeat(8_192)}`, 400],
    [`/checkins?${"a&".repeat(5_000)}`, 200],
  ];
  for (const [path, status] of paths) {
    it(`${status} for ${path.slice(0, 50)}${path.length > 50 ? `… of ${path.length} characters` : ""}`, async () => {
      const answer = await send(test.port, "GET", path.replaceAll(/[^\0-\x7f]/g, encodeURIComponent), {
        token: user.token,
      });
      assert.equal(answer.status, status, answer.text);
      assert.equal(answer.headers["content-type"], "application/json");
      assert.equal(answer.body.status, status);
    });
  }

  it("names in a path are unescaped exactly once, so that an escaped slash, dot or escape in them is literal", async () => {
    const providers = [
      "..",
      ".",
      "../..",
      "a/../b",
      "//",
      "a/",
      "%2e%2e",
      "%2F",
      "%00",
      "%zz",
      "a／b",
      "a?b#c",
      "\\",
      ";a=b",
    ];
    for (const provider of providers) {
      const path = `/users/me/identities/${encodeURIComponent(provider).replaceAll(".", "%2e")}`;
      const options = { token: user.token, body: { identityId: `id of ${provider}` } };
      assertResult(await test.call(`POST ${path}`, options), 200, 1);
      const { pageResults } = (await test.call(`GET ${path}`, { token: user.token })).body.result;
      assert.equal(pageResults.length, 1, provider);
      assert.equal(pageResults[0].identityProviderName, provider);
    }
  });
});

// spec/transport#broken-requests
describe("requests that proxies could interpret differently (17)", () => {
  const body = '{"location":"1,2","comment":"ambiguous"}';

  it("are refused in HTTP/1.0 with Transfer-Encoding, and the connection is closed", async () => {
    const before = await countCheckins();
    const chunked = `${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n`;
    const head = checkInHead("Transfer-Encoding: chunked").replace("HTTP/1.1", "HTTP/1.0");
    const answers = await exchange(`${head}${chunked}`);
    assert.equal(answers.length, 1);
    assertError(answers[0] as Answer, 400, "ParameterIncorrectFormat", 515, "HTTP/1.0 has no Transfer-Encoding.");
    assert.equal(await countCheckins(), before);
  });

  it("are refused with a duplicate Host in any spelling, and the connection is closed", async () => {
    for (const second of ["Host: a", "HOST: b", "host:"]) {
      const answers = await exchange(`GET /service/ping HTTP/1.1\r\n${host}${second}\r\n\r\n`);
      assert.equal(answers.length, 1);
      assertError(answers[0] as Answer, 400, "ParameterIncorrectFormat", 515, "The Host header must be sent once.");
    }
  });
});

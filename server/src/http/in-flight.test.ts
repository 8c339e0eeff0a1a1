import assert from "node:assert/strict";
import { once } from "node:events";
import { type IncomingMessage, request } from "node:http";
import { after, before, describe, it } from "node:test";
import { type Answer, assertError, openRaw, startTestApp, type TestApp, type TestUser } from "../../test/harness.ts";
import { begin, createUpload, sendBytes } from "../../test/tus.ts";
import { until } from "../../test/until.ts";
import { dataPart, formHeaders, formOf, postForm } from "../../test/uploads.ts";

let test: TestApp;
before(async () => {
  test = await startTestApp({ IN_FLIGHT_BYTES_MAX: "8388608", CALLER_UPLOADS_MAX: "2" });
});
after(() => test.close());

const bodyBytes = 1_000_000;

/** Sends a check-in except for the last byte of its body. */
async function beginCheckin({ token }: TestUser, port = test.port, bytes = bodyBytes) {
  const json = JSON.stringify({ location: "1,2", unknown: "é".repeat(bytes / 2) }).slice(0, -1);
  const connection = openRaw(port);
  connection.write(
    `POST /checkins HTTP/1.1\r\nHost: a\r\nAuthorization: Service ${token}\r\nContent-Length: ${Buffer.byteLength(json) + 1}\r\n\r\n${json}`,
  );
  const sentBytes = Buffer.byteLength(json);
  return { close: connection.close, answer: connection.receive(), finish: () => connection.write("}"), sentBytes };
}

/** Resolves with undefined when no response arrives for a while. */
function soon(answer: Promise<Answer | undefined>): Promise<Answer | undefined> {
  return Promise.race([answer, new Promise<undefined>((resolve) => setTimeout(() => resolve(undefined), 500))]);
}

const tooMany = [503, "ServiceUnavailable", 1284, "Too many bytes of requests are in flight. Try again."] as const;

// spec/limits#bytes-in-flight
describe("bytes in flight (hostile.md 37, 43)", () => {
  it("refuse a caller above its share with 503, and serve other callers, and the same caller afterwards", async () => {
    const [me, other] = [await test.signUp(), await test.signUp("other", await test.createApplication())];
    const mine = await Promise.all(Array.from({ length: 5 }, () => beginCheckin(me)));
    assert.equal((await Promise.race(mine.map(({ answer }) => answer)))?.status, 503);

    const theirs = await beginCheckin(other);
    theirs.finish();
    assert.equal((await theirs.answer)?.status, 201);
    theirs.close();

    for (const { finish } of mine) finish();
    const answers = (await Promise.all(mine.map(({ answer }) => answer))).filter((answer) => answer !== undefined);
    const refused = answers.filter(({ status }) => status !== 201);
    assert.equal(answers.length, mine.length);
    assert.ok(refused.length < mine.length, `${refused.length} were refused`);
    for (const answer of refused) {
      assertError(answer, ...tooMany);
      assert.match(String(answer.headers["retry-after"]), /^\d+$/);
    }
    for (const { close } of mine) close();
    for (let count = 0; count < 8; count += 1) {
      const again = await beginCheckin(me);
      again.finish();
      assert.equal((await again.answer)?.status, 201);
      again.close();
    }
  });

  it("include small bodies while they arrive, so that one above the caller's share gets 503 until another is answered", async () => {
    const small = await startTestApp({ BODY_BYTES_MAX: "16384", IN_FLIGHT_BYTES_MAX: "1048576" });
    const [me, other] = [await small.signUp(), await small.signUp("other", await small.createApplication())];
    const beginSmall = (user: TestUser) => beginCheckin(user, small.port, 15_900);
    const first = await beginSmall(me);
    const areHeld = (count: number) => until(() => small.app.bytesInFlight.heldBytes === count * first.sentBytes);
    const share = Math.floor(1_048_576 / 3 / first.sentBytes);
    const mine = await Promise.all(Array.from({ length: share - 1 }, () => beginSmall(me)));
    await areHeld(share);
    const refused = await beginSmall(me);
    const refusal = await refused.answer;
    assert.ok(refusal !== undefined);
    assertError(refusal, ...tooMany);

    const theirs = await beginSmall(other);
    await areHeld(share + 1);
    theirs.finish();
    assert.equal((await theirs.answer)?.status, 201);
    first.finish();
    assert.equal((await first.answer)?.status, 201);
    await areHeld(share - 1);
    const again = await beginSmall(me);
    await areHeld(share);
    again.finish();
    assert.equal((await again.answer)?.status, 201);
    for (const { close } of [first, refused, theirs, again, ...mine]) close();
    await areHeld(0);
    await small.close();
  });

  it("are released by an incomplete body", async () => {
    const me = await test.signUp();
    for (let count = 0; count < 10; count += 1) {
      const one = await beginCheckin(me);
      assert.equal(await soon(one.answer), undefined);
      one.close();
    }
  });

  it("do not change a body of any size, with or without chunks", async () => {
    const { token } = await test.signUp();
    for (const length of [1, 16_000, 17_000, 65_536, 70_000, 131_072, 200_000, 1_000_000]) {
      const comment = `${"é".repeat(50)}x`;
      const body = JSON.stringify({ location: "1,2", filler: "x".repeat(length), comment });
      const checkin = await test.call("POST /checkins", { token, body });
      assert.equal(checkin.body.result?.comment, comment, `${length}`);
      const chunked = await fetch(`${test.url}/checkins`, {
        method: "POST",
        headers: { authorization: `Service ${token}` },
        body: new Blob([body]).stream(),
        duplex: "half",
      } as RequestInit);
      assert.equal(((await chunked.json()) as { result: { comment: string } }).result.comment, comment, `${length}`);
    }
  });
});

describe("exports of users (hostile.md 37, 43)", () => {
  it("reserve memory while they are sent, so that one more gets 503 until the first has finished", async () => {
    const user = await test.signUp();
    // Larger than a connection's buffers, so that the export waits for its client.
    const file = dataPart("x".repeat(24_000_000));
    assert.equal((await postForm(test, "/blobs", [file], { token: user.token })).status, 201);
    const { token } = await test.createOperator();
    const path = `/_/api/applications/${test.application.appid}/users/${user.id}/export`;

    async function beginExport(): Promise<IncomingMessage> {
      const headers = { authorization: `Service ${token}` };
      const outgoing = request({ port: test.port, host: "127.0.0.1", method: "POST", path, headers, agent: false });
      outgoing.end();
      const [incoming] = await once(outgoing, "response");
      incoming.on("error", () => {}); // it is cut off below
      return incoming;
    }

    const first = await beginExport();
    assert.equal(first.statusCode, 200);
    assertError(await test.call(`POST ${path}`, { token }), ...tooMany);
    first.destroy();
    // The server notices the end of the connection in its own time.
    await until(async () => {
      const again = await beginExport();
      again.destroy();
      return again.statusCode === 200;
    });
  });
});

// spec/limits#bytes-in-flight
describe("simultaneous uploads of one caller", () => {
  /** Begins to send a multipart form. */
  function beginUpload({ token }: TestUser) {
    const form = formOf([dataPart("a".repeat(1_000))]);
    const connection = openRaw(test.port);
    connection.write(
      `POST /blobs HTTP/1.1\r\nHost: a\r\nAuthorization: Service ${token}\r\nContent-Type: ${formHeaders["content-type"]}\r\nContent-Length: ${form.length}\r\n\r\n`,
    );
    connection.write(form.subarray(0, 200));
    return {
      close: connection.close,
      answer: connection.receive(),
      finish: () => connection.write(form.subarray(200)),
    };
  }

  it("are refused above CALLER_UPLOADS_MAX, including resumable ones, until one has finished; other callers are served", async () => {
    const [me, other] = [await test.signUp(), await test.signUp()];
    const path = await begin(test, me.token, 10);
    const [first, second] = [beginUpload(me), beginUpload(me)];
    assert.equal(await soon(second.answer), undefined);
    const rule = [429, "RateLimitExceeded", 1282, "A caller may have 2 simultaneous uploads."] as const;
    assertError(await postForm(test, "/blobs", [dataPart("a")], { token: me.token }), ...rule);
    assertError(await sendBytes(test, me.token, path, 0, "ten bytes."), ...rule);
    const withBytes = { headers: { "content-type": "application/offset+octet-stream" }, body: "a" };
    assertError(await createUpload(test, me.token, 10, undefined, withBytes), ...rule);
    assert.equal((await createUpload(test, me.token, 10)).status, 201); // has no body, so it does not count
    assert.equal((await postForm(test, "/blobs", [dataPart("a")], { token: other.token })).status, 201);
    first.finish();
    assert.equal((await first.answer)?.status, 201);
    assert.equal((await postForm(test, "/blobs", [dataPart("a")], { token: me.token })).status, 201);
    assert.equal((await sendBytes(test, me.token, path, 0, "ten bytes.")).status, 204);
    second.close();
    first.close();
  });
});

describe("large pages (hostile.md 37, 43)", () => {
  const bytesMax = 8_388_608;
  const list = "/checkins?userID=me&pageSize=1000";
  let small: TestApp;
  let me: TestUser;
  let pageBytes: number;
  before(async () => {
    small = await startTestApp({ IN_FLIGHT_BYTES_MAX: String(bytesMax) });
    me = await small.signUp();
    const item = { method: "POST", path: "/checkins", parameters: { location: "1,2", comment: "x".repeat(2_000) } };
    for (let count = 0; count < 5; count += 1) {
      const requests = Array.from({ length: 100 }, () => item);
      const { body } = await small.call("POST /batch", { token: me.token, body: { requests } });
      assert.ok(body.result.responses.every(({ status }: Answer) => status === 201));
    }
    const page = await small.call(`GET ${list}`, { token: me.token });
    assert.equal(page.body.result.pageResults.length, 500);
    pageBytes = JSON.stringify(page.body).length;
  });
  after(() => small.close());

  async function untilNothingIsHeld(): Promise<void> {
    await until(() => small.app.bytesInFlight.heldBytes === 0);
  }

  it("use at most the budget and one page in memory; each is answered, or refused with 503", async () => {
    const other = await small.signUp("other", await small.createApplication());
    const pages = Promise.all(Array.from({ length: 60 }, () => small.call(`GET ${list}`, { token: me.token })));
    const others = await Promise.all(
      Array.from({ length: 20 }, () => small.call("GET /checkins?pageSize=20", { token: other.token })),
    );
    for (const { status } of others) assert.equal(status, 200);
    let served = 0;
    for (const answer of await pages) {
      if (answer.status === 200) {
        served += 1;
        continue;
      }
      assertError(answer, ...tooMany);
      assert.match(String(answer.headers["retry-after"]), /^\d+$/);
    }
    assert.ok(served > 0);
    const { heldBytesMax } = small.app.bytesInFlight;
    assert.ok(heldBytesMax >= pageBytes, `${heldBytesMax} bytes were counted`);
    assert.ok(heldBytesMax <= bytesMax + pageBytes, `${heldBytesMax} bytes were held`);
    await untilNothingIsHeld();
    assert.equal((await small.call(`GET ${list}`, { token: me.token })).status, 200);
  });

  it("release their memory when a connection with pipelined pages closes", async () => {
    const request = `GET ${list} HTTP/1.1\r\nHost: a\r\nAuthorization: Service ${me.token}\r\n\r\n`;
    for (let count = 0; count < 5; count += 1) {
      const connection = openRaw(small.port);
      connection.write(request.repeat(6));
      await new Promise((resolve) => setTimeout(resolve, 30 * count));
      connection.close();
    }
    await untilNothingIsHeld();
  });
});

import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { type Answer, openRaw, startTestApp, type TestApp, type TestUser } from "../../test/harness.ts";

// spec/transport#requests
describe("A response of the fast path", () => {
  let test: TestApp;
  let jane: TestUser;
  let checkinId: string;
  before(async () => {
    test = await startTestApp();
    jane = await test.signUp();
    const answer = await test.call("POST /checkins", {
      token: jane.token,
      body: { location: "1,2", comment: "ümlaut" },
    });
    checkinId = answer.body.result.id;
  });
  after(() => test.close());

  /** A header with an underscore is not for the fast path, and means nothing. */
  async function send(line: string, body: string, headers: readonly string[]): Promise<Answer> {
    const lines = [`${line} HTTP/1.1`, "Host: a", `Authorization: Service ${jane.token}`, ...headers];
    if (body !== "") lines.push(`Content-Length: ${Buffer.byteLength(body)}`);
    const connection = openRaw(test.port);
    connection.write(`${lines.join("\r\n")}\r\n\r\n${body}`);
    const answer = await connection.receive();
    connection.close();
    assert.ok(answer);
    return answer;
  }

  /** Without what differs between two calls. */
  function comparable({ status, headers: { date: _date, ratelimit: _rest, ...headers }, text }: Answer) {
    assert.equal(headers["content-length"], `${Buffer.byteLength(text)}`);
    const names = Object.keys(headers);
    const values = Object.entries(headers).filter(([name]) => name !== "content-length");
    return { status, names, values, text: text.replaceAll(/"(request_id|\w+Token)":"[\w-]+"/g, "") };
  }

  const requests: Readonly<Record<string, () => readonly [line: string, body?: string, ...headers: string[]]>> = {
    "a read": () => ["GET /users/me"],
    "text beyond ASCII": () => [`GET /checkins/${checkinId}`],
    "a page": () => ["GET /checkins?pageSize=20&comment=%C3%BCmlaut"],
    "a page of any origin": () => ["GET /users/me", "", "Origin: https://app.example"],
    "a change": () => [`PATCH /checkins/${checkinId}`, '{"comment":"ünlaut"}', "Content-Type: application/json"],
    "a form": () => [`PATCH /checkins/${checkinId}`, "comment=a+b", "Content-Type: application/x-www-form-urlencoded"],
    "a parameter that is ignored": () => ["GET /users/me?nonsens%C3%A9=1"],
    "a repeat of a stored response": () => ["POST /checkins", '{"location":"1,2"}', "Idempotency-Key: the same"],
    "an unknown object": () => ["GET /checkins/chk_00000000000000000000000000"],
    "a broken body": () => ["POST /checkins", '{"location":'],
    "a missing parameter": () => ["POST /checkins", "{}"],
    "an unknown path": () => ["GET /nowhere"],
    "a path that is not UTF-8": () => ["GET /checkins/%zz"],
    "a deletion of nothing": () => ["DELETE /metadata/app/nothing"],
    "a batch": () => ["POST /batch", '{"requests":[{"method":"GET","path":"/service/ping"}]}'],
  };
  for (const [name, request] of Object.entries(requests)) {
    it(`is the same as by node:http: ${name}`, async () => {
      const [line, body = "", ...headers] = request();
      if (name.startsWith("a repeat")) await send(line, body, headers);
      const fast = await send(line, body, headers);
      const byNode = await send(line, body, [...headers, "X_By: node"]);
      assert.deepEqual(comparable(fast), comparable(byNode));
    });
  }
});

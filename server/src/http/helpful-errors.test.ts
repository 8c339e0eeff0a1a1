// Runs on one engine: no statement takes part.
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { gzipSync } from "node:zlib";
import { assertError, startTestApp, type TestApp, type TestUser } from "../../test/harness.ts";
import { tusHeaders } from "../../test/tus.ts";

let test: TestApp;
let jane: TestUser;
before(async () => {
  test = await startTestApp();
  jane = await test.signUp();
});
after(() => test.close());

// spec/transport#bodies
describe("a compressed body", () => {
  it("is refused with 415 and the reason wherever a body is read", async () => {
    const operator = await test.createOperator();
    const body = gzipSync(JSON.stringify({ location: "1,1" }));
    const form = { "content-type": "multipart/form-data; boundary=b" };
    for (const [operation, token, headers] of [
      ["POST /checkins", jane.token, {}],
      ["POST /checkins", jane.token, { "content-type": "application/x-www-form-urlencoded" }],
      ["PATCH /users/me", jane.token, {}],
      ["POST /devices", undefined, {}],
      ["POST /batch", jane.token, {}],
      ["POST /blobs", jane.token, form],
      ["POST /files/uploads", jane.token, tusHeaders],
      ["POST /_/api/applications", operator.token, {}],
    ] as const) {
      for (const encoding of ["gzip", "BR", "identity, deflate"]) {
        const answer = await test.call(operation, {
          ...(token && { token }),
          body,
          headers: { ...headers, "content-encoding": encoding },
        });
        const message = "The body must not be compressed. Send it without Content-Encoding.";
        assertError(answer, 415, "ParameterOutOfRange", 514, message);
      }
    }
    const plain = { token: jane.token, body: { location: "1,1" }, headers: { "content-encoding": "Identity" } };
    assert.equal((await test.call("POST /checkins", plain)).status, 201);
    assert.equal(
      (await test.call("GET /users/me", { token: jane.token, headers: { "content-encoding": "gzip" } })).status,
      200,
    );
  });
});

// spec/transport#paths-and-verbs
describe("an unknown verb", () => {
  it("gets the verbs of the path, in the message and in Allow", async () => {
    const answer = await test.call("PUT /users/me", { token: jane.token });
    assert.equal(answer.status, 404);
    const verbs = String(answer.headers["allow"]).split(", ").sort();
    assert.deepEqual(verbs, ["DELETE", "GET", "HEAD", "PATCH"]);
    assert.equal(answer.body.message, `There is no such operation. This path has ${answer.headers["allow"]}.`);
    assert.equal((await test.call("PUT /nowhere")).headers["allow"], undefined);
  });

  it("does not reveal operations that are hidden from the address", async (t) => {
    const fenced = await startTestApp({ OPERATOR_ADDRESSES: "10.0.0.0/8" });
    t.after(() => fenced.close());
    const answer = await fenced.call("PUT /_/api/operators");
    assert.deepEqual([answer.body.message, answer.headers["allow"]], ["There is no such operation.", undefined]);
  });
});

// spec/transport#bodies
describe("malformed JSON", () => {
  for (const [body, where] of [
    ['{"location":"1,1",}', "line 1, column 19"],
    ['{\n  "location" "1,1"\n}', "line 2, column 14"],
    ['{"a":}', "line 1, column 6"],
    ["{'a':1}", "line 1, column 2"],
    ['{"a":tru3}', "line 1, column 9"],
    ['{"a":1}}', "line 1, column 8"],
    ['{"a":"é\u0001"}', "line 1, column 8"],
    ['{"a":"\\x"}', "line 1, column 8"],
    ['{"a":1', "it ends too early"],
    ['{"a":"b', "it ends too early"],
    ['{"a":[1,{"b":2}', "it ends too early"],
  ] as const) {
    it(`is refused with the position of the error: ${JSON.stringify(body)}`, async () => {
      const answer = await test.call("POST /checkins", { token: jane.token, body });
      assert.equal(answer.status, 400);
      assert.equal(answer.body.message, `The body is not valid JSON: ${where}.`);
    });
  }
});

import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import fc from "fast-check";
import { assertError, assertResult, startTestApp, type TestApp, type TestUser } from "../../test/harness.ts";
import { rounds } from "../../test/rounds.ts";

let test: TestApp;
let user: TestUser;
before(async () => {
  test = await startTestApp();
  user = await test.signUp();
});
after(() => test.close());

/** Puts this JSON, and returns the JSON that GET answers. */
async function throughAndBack(json: string): Promise<string | undefined> {
  const { token } = user;
  const { status, text } = await test.call("PUT /metadata/me/value", { token, body: `{"value":${json}}` });
  assert.ok(status < 300, `${json.slice(0, 60)}: ${text}`);
  const answer = await test.call("GET /metadata/me/value", { token });
  return /^\{"status":200,"result":\{"key":"value","value":(.*),"visibility":"User",/s.exec(answer.text)?.[1];
}

// spec/metadata#value-types
describe("values of metadata", () => {
  it("are returned as they were sent: strings, numbers, booleans, nested nulls, members of any name in any order", async () => {
    for (const json of [
      ...['""', '"a"', "0", "1", "-1.5", "1e-7", "1e+21", "5e-324", "1.7976931348623157e+308", "true", "false"],
      ...["[]", "{}", "[null]", '{"a":null}', '{"__proto__":{"toJSON":1},"constructor":[],"toString":"x","":0}'],
      ...[
        '"\\ud800"',
        '["\\udc00\\ud800"]',
        '"\\u0000"',
        '{"\\u0000":"\\u0000","\\ud800":1}',
        '"\u2028\u202E😀\uFEFF"',
      ],
    ]) {
      assert.equal(await throughAndBack(json), json);
    }
  });

  it("preserve all digits of integers, bare and nested; -0 becomes 0, and other numbers are doubles", async () => {
    const long = "9".repeat(300);
    for (const json of ["9007199254740993", "-12345678901234567890", `[${long},{"a":-${long}}]`, long]) {
      assert.equal(await throughAndBack(json), json);
    }
    assert.equal(await throughAndBack("-0"), "0");
    assert.equal(await throughAndBack("[-0,1.0,1e2]"), "[0,1,100]");
  });

  it("are returned as they were sent: any JSON value", async () => {
    const anyJson = fc.oneof(fc.jsonValue({ stringUnit: "binary" }), fc.string({ unit: "binary" }));
    await fc.assert(
      fc.asyncProperty(anyJson, async (value) => {
        if (value === null) return;
        const json = JSON.stringify(value);
        assert.equal(await throughAndBack(json), json);
      }),
      { numRuns: rounds(60) },
    );
  });

  it("are stored, or refused with a clear error, if they are deeply nested and contain long integers", async () => {
    const deep = `${"[".repeat(16_384)}${"]".repeat(16_384)}`;
    assert.equal(await throughAndBack(deep), deep);
    const members = `${'{"a":'.repeat(5_000)}1${"}".repeat(5_000)}`;
    assert.equal(await throughAndBack(members), members);
    const list = await test.call("GET /metadata/me", { token: user.token });
    assert.ok(list.text.includes(members));
    const { body } = await test.call("PUT /metadata/me/value", {
      token: user.token,
      body: `{"value":[${deep.slice(10, -10)},12345678901234567890]}`,
    });
    if (body.error !== undefined) assert.equal(body.message, "The body is nested too deep.");
  });
});

// spec/metadata#value-size, spec/metadata#value-types
describe("invalid values of metadata", () => {
  const put = (body: string) => test.call("PUT /metadata/me/refused", { token: user.token, body });

  it("are refused with 413 RequestTooLarge above 32 KiB of UTF-8 as the service writes them, wherever the bytes are", async () => {
    for (const value of ["x".repeat(32_766), "é".repeat(16_383), "\0".repeat(5_461), "1".repeat(300)]) {
      assert.equal(await throughAndBack(JSON.stringify(value)), JSON.stringify(value));
    }
    for (const json of [
      JSON.stringify("x".repeat(32_767)),
      JSON.stringify("é".repeat(16_384)),
      JSON.stringify("\0".repeat(5_462)),
      `[${Array(16_400).fill(1)}]`,
    ]) {
      const message = "value is larger than 32768 bytes of JSON.";
      assertError(await put(`{"value":${json}}`), 413, "RequestTooLarge", 1281, message);
    }
    assert.equal(await throughAndBack(`[${" ".repeat(40_000)}]`), "[]");
  });

  it("are refused with 400 ParameterOutOfRange for numbers that no double can represent, at any depth", async () => {
    const message = "value must not hold a number beyond 1.8e308.";
    for (const json of ["1e400", "-1e400", '{"a":[1e400]}', "1".repeat(310), `[-${"9".repeat(6_000)}]`]) {
      assertError(await put(`{"value":${json}}`), 400, "ParameterOutOfRange", 514, message);
    }
    const values = await test.call("PUT /metadata/me", { token: user.token, body: '{"values":{"a":1,"b":[1e999]}}' });
    assertError(values, 400, "ParameterOutOfRange", 514, message.replace("value", "values"));
  });

  it("cannot result from a form parameter, which is a string", async () => {
    const headers = { "content-type": "application/x-www-form-urlencoded" };
    for (const [sent, value] of [
      ["5", "5"],
      ["%7B%22a%22%3A1%7D", '{"a":1}'],
      ["null", "null"],
      ["", ""],
    ]) {
      const answer = await test.call("PUT /metadata/me/form", { token: user.token, headers, body: `value=${sent}` });
      assert.ok(answer.status < 300);
      const { body } = await test.call("GET /metadata/me/form", { token: user.token });
      assert.equal(body.result.value, value);
    }
    const broken = await test.call("PUT /metadata/me/form", { token: user.token, headers, body: "value=%FF" });
    assertError(broken, 400, "ParameterIncorrectFormat", 515, "value has escapes that are not UTF-8.");
  });

  it("store nothing", async () => {
    const answer = await test.call("DELETE /metadata/me/refused", { token: user.token });
    assertError(answer, 404, "ItemDoesNotExist", 769, "The item does not exist.");
    assertResult(await test.call("GET /metadata/me/form", { token: user.token }), 200, {
      ...(await test.call("GET /metadata/me/form", { token: user.token })).body.result,
      value: "",
    });
  });
});

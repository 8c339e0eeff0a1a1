import assert from "node:assert/strict";
import { after, afterEach, before, describe, it } from "node:test";
import { trimAddress } from "../src/lib/mail-addresses.ts";
import { type Answer, assertError, startTestApp, type TestApp, type TestUser } from "./harness.ts";
import { processorTime } from "./processor-time.ts";

/** hostile.md "Input", lines 15 to 23: refused with the right error, or stored as plain text; never a 500. */

let test: TestApp;
let user: TestUser;
before(async () => {
  test = await startTestApp();
  user = await test.signUp();
});
afterEach(async () => {
  assert.equal((await test.call("GET /_/health/ready")).status, 200);
  assert.equal((await checkIn({ comment: "healthy" })).body.result.comment, "healthy");
});
after(async () => {
  const failures = test.logLines.filter(({ level }) => Number(level) >= 50);
  await test.close();
  assert.deepEqual(failures, []);
});

/** Creates a check-in with these fields, or with this string as the members of the JSON object. */
function checkIn(fields: Record<string, unknown> | string): Promise<Answer> {
  const body = typeof fields === "string" ? `{"location":"1,2",${fields}}` : { location: "1,2", ...fields };
  return test.call("POST /checkins", { token: user.token, body });
}

function addIdentity(provider: string, identityId: unknown): Promise<Answer> {
  const path = `/users/me/identities/${encodeURIComponent(provider)}`;
  return test.call(`POST ${path}`, { token: user.token, body: { identityId } });
}

function findUserOf(provider: string, identityId: string): Promise<Answer> {
  const path = `/users/identities/${encodeURIComponent(provider)}/${encodeURIComponent(identityId)}`;
  return test.call(`GET ${path}`, { token: user.token });
}

const specialNames = ["__proto__", "constructor", "toString", "hasOwnProperty", "then", "toJSON"];

describe("names with a meaning in JavaScript (15)", () => {
  it("are ignored as parameter names, in JSON, forms and queries", async () => {
    for (const name of specialNames) {
      for (const value of ['"x"', '{"location":"1,2"}', "[]", "null", '{"__proto__":{"polluted":true}}']) {
        const body = `{"${name}":${value}}`;
        const missing = await test.call("POST /checkins", { token: user.token, body });
        assertError(missing, 400, "ParameterMissingRequiredValue", 513, "location is required.");
        assert.equal((await checkIn(`"${name}":${value}`)).status, 201);
      }
      const headers = { "content-type": "application/x-www-form-urlencoded" };
      const options = { token: user.token, body: `location=1,2&${name}=x&${name}[a]=x`, headers };
      assert.equal((await test.call("POST /checkins", options)).status, 201);
      assert.equal((await test.call(`GET /checkins?${name}=x&${name}[a]=x`, options)).status, 200);
    }
    assert.ok(!("polluted" in {}) && !("location" in {}));
  });

  it("are ordinary providers, identifiers, user names and strings", async () => {
    for (const name of specialNames) {
      assert.equal((await addIdentity(name, name)).body.result, 1);
      assert.equal((await findUserOf(name, name)).body.result, user.id);
      assert.equal((await findUserOf(name, `${name}x`)).status, 404);
      const named = await test.signUp(name);
      assert.equal((await test.call("GET /users/me", { token: named.token })).body.result.userName, name);
      assert.equal((await checkIn({ comment: name })).body.result.comment, name);
    }
  });
});

describe("JSON (17)", () => {
  const nested = (levels: number) => `${'{"a":['.repeat(levels / 2)}${"]}".repeat(levels / 2)}`;

  it("JSON nested 10,000 deep is ignored in an unknown member, and refused in a parameter", async () => {
    assert.equal((await checkIn(`"unknown":${nested(10_000)}`)).status, 201);
    for (const name of ["comment", "location"]) {
      assert.equal((await checkIn(`"${name}":${nested(10_000)}`)).body.error, "ParameterIncorrectFormat");
    }
    assert.ok((await checkIn(`"id":12345678901234567890,"unknown":${nested(10_000)}`)).status < 500);
  });

  it("a body of only [ or only { is refused, above the limit as too large", async () => {
    for (const character of ["[", "{", '{"a":', "[{"]) {
      const body = character.repeat(1_000_000 / character.length);
      const answer = await test.call("POST /checkins", { token: user.token, body });
      assertError(answer, 400, "ParameterIncorrectFormat", 515, "The body is not valid JSON.");
    }
    const answer = await test.call("POST /checkins", { token: user.token, body: "[".repeat(10_000_000) });
    assertError(answer, 413, "RequestTooLarge", 1281, "The body is larger than 1048576 bytes.");
  });

  it("lone surrogates and NUL in any string, numbers beyond a double, and NaN get 400", async () => {
    for (const text of ["\\ud800", "a\\udfff", "\\udc00\\ud800", "\\u0000", "a\\u0000b"]) {
      const answer = await checkIn(`"comment":"${text}"`);
      const message = "comment must be Unicode text without NUL.";
      assertError(answer, 400, "ParameterIncorrectFormat", 515, message);
    }
    for (const number of ["1e400", "-1e400", "NaN", "Infinity", "-", "01", "0x1"]) {
      assert.equal((await checkIn(`"comment":${number}`)).body.error, "ParameterIncorrectFormat");
    }
    assert.equal((await checkIn('"location":{"lat":1e400,"lng":0}')).body.error, "ParameterOutOfRange");
  });

  it("a latitude of twenty digits gets 400 ParameterOutOfRange, like any other impossible latitude", async () => {
    for (const lat of ["91", "1234567890123456", "12345678901234567890", "-12345678901234567890"]) {
      const { error } = (await checkIn(`"location":{"lat":${lat},"lng":0}`)).body;
      assert.equal(error, "ParameterOutOfRange", lat);
    }
  });

  it("-0 is 0, and NaN and 1e400 are valid strings in string parameters", async () => {
    assert.deepEqual((await checkIn({ location: "-0,-0" })).body.result.location, { lat: 0, lng: 0 });
    for (const comment of ["NaN", "1e400", "-0", "null", "undefined", "[object Object]"]) {
      assert.equal((await checkIn({ comment })).body.result.comment, comment);
    }
  });

  it("a number of a million digits does not delay other requests", async () => {
    async function medianMs(members: string): Promise<number> {
      const times: number[] = [];
      for (let run = 0; run < 3; run += 1) {
        const usedMs = processorTime();
        assert.equal((await checkIn(members)).status, 400);
        times.push(usedMs());
      }
      return times.sort((a, b) => a - b)[1] ?? 0;
    }
    const digits = "9".repeat(1_000_000);
    const asText = await medianMs(`"comment":"${digits}"`);
    const asNumber = await medianMs(`"comment":${digits}`);
    assert.ok(asNumber < 4 * asText + 50, `${asNumber} ms, as a text ${asText} ms`);
  });
});

// spec/transport#texts
describe("strings (19, 20, 23)", () => {
  const family = "👩‍👩‍👧‍👦";
  const texts = {
    "4-byte Unicode": `${family}𝔘𐍈`.repeat(8),
    "right-to-left marks": "\u202Eevil\u202C \u200Fשלום\u2066ابجد\u2069",
    "combining marks": `e${"\u0301".repeat(255)}`,
    "decomposed Unicode": "e\u0301 \u1100\u1161 ﬁ Ⅳ",
    "blanks and control characters": " \t\u00A0\u2028\u2029\u0085\uFEFF\u0001\u001F\u007F ",
    "line breaks": "a\r\nSet-Cookie: x=1\r\n\r\n<script>",
    "characters that resemble a slash": "a／b∕c⁄d",
    SQL: "'; drop table checkins; -- \" ` \\ ; select 1 /* */ $1 ? :a @b",
    wildcards: "%_*?[a-z]\\%",
    escapes: "%00 %2e%2e %252F + &amp; \\u0000 \\x00",
    markup: '<img src=x onerror="alert(1)">',
  };

  for (const [name, text] of Object.entries(texts)) {
    it(`${name}: stored and returned unchanged in every text field, around an address without blanks`, async () => {
      const { result } = (await checkIn({ comment: text, description: text })).body;
      assert.deepEqual([result.comment, result.description], [text, text]);
      const read = await test.call(`GET /checkins/${result.id}`, { token: user.token });
      assert.deepEqual([read.body.result.comment, read.body.result.description], [text, text]);
      assert.deepEqual(Object.keys(read.headers).sort(), Object.keys((await findUserOf("a", "b")).headers).sort());

      assert.equal((await addIdentity(text, text)).body.result, 1);
      assert.equal((await findUserOf(text, text)).body.result, user.id);
      const path = `/users/me/identities/${encodeURIComponent(text)}`;
      const [identity] = (await test.call(`GET ${path}`, { token: user.token })).body.result.pageResults;
      assert.deepEqual([identity.identityProviderName, identity.identityProviderID], [text, text]);

      const body = { username: `${text}`.slice(0, 200), password: text, firstName: text, lastName: text, email: text };
      const created = await test.call("POST /users", { token: user.deviceToken, body });
      assert.deepEqual({ ...body, ...created.body.result, username: body.username }.firstName, text);
      assert.equal(created.body.result.userName, body.username);
      const { email } = (await test.call("POST /users/login", { token: user.deviceToken, body })).body.result;
      assert.equal(email ?? "", trimAddress(text)); // spec/users: characters that no mail system accepts are removed
    });
  }

  it("wildcards and quotes match only themselves", async () => {
    await test.signUp("wild card");
    assert.equal((await addIdentity("wild", "card")).body.result, 1);
    for (const pattern of [
      "%",
      "wild%",
      "wild_card",
      "_%",
      "*",
      "wild card' or '1'='1",
      "wild card'--",
      "wild card\\",
    ]) {
      const body = { username: pattern, password: "correct horse" };
      const login = await test.call("POST /users/login", { token: user.deviceToken, body });
      assertError(login, 403, "AuthBadUsernameOrPassword", 262);
      assert.equal((await findUserOf("wild", pattern)).status, 404);
      assert.equal((await findUserOf(pattern, "card")).status, 404);
      const own = await test.call(`GET /users/me/identities/${encodeURIComponent(pattern)}`, { token: user.token });
      assert.deepEqual(own.body.result.pageResults, []);
    }
  });
});

describe("dates (22)", () => {
  const search = (range: string) =>
    test.call(`GET /checkins?created=${encodeURIComponent(range)}&pageSize=1`, { token: user.token });

  it("ranges before 1970, in the years 1 and 9999, and with an open start or end are valid", async () => {
    const before = [
      "-1969-12-31",
      "-5--3",
      "0001-01-01-0001-01-02",
      "/Date(-2)/-/Date(-1)/",
      "9999-12-31T23:59:59.999Z-",
    ];
    for (const range of before) assert.deepEqual((await search(range)).body.result?.pageResults, [], range);
    for (const range of ["1969-12-31-9999-12-31", "(null)-9999/12/31", "-", "(null)-(null)", "/Date(-1)/-"]) {
      assert.equal((await search(range)).body.result?.pageResults.length, 1, range);
    }
  });

  it("impossible days, and a single date, get 400 ParameterIncorrectFormat", async () => {
    for (const date of ["2026-02-30", "2025-02-29", "2026-13-01", "2026-00-10", "2026-01-01T24:00Z", "1e3", "NaN"]) {
      for (const range of [`${date}-`, `-${date}`, date]) {
        assert.equal((await search(range)).body.error, "ParameterIncorrectFormat", range);
      }
    }
    for (const date of ["2026-01-01", "/Date(5)/", "5", "Jul 9, 1981 7:07:21 AM"]) {
      assert.equal((await search(date)).body.error, "ParameterIncorrectFormat", date);
    }
  });

  it("a range whose end is before its start, and impossible years, get 400 ParameterOutOfRange", async () => {
    const ranges = ["2016-01-01-2015-12-31", "/Date(2)/-/Date(1)/", "10000-01-01-", "-/Date(99999999999999999)/"];
    for (const range of ranges) assert.equal((await search(range)).body.error, "ParameterOutOfRange", range);
  });
});

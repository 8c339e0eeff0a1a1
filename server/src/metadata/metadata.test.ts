import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import {
  type Answer,
  assertError,
  assertResult,
  startTestApp,
  type TestApp,
  type TestUser,
} from "../../test/harness.ts";
import { formatDate } from "../lib/dates.ts";

let test: TestApp;
let user: TestUser;
before(async () => {
  test = await startTestApp();
  user = await test.signUp();
});
after(() => test.close());

function put(path: string, body: object | string, token = user.token): Promise<Answer> {
  return test.call(`PUT /metadata/${path}`, { token, body });
}

function get(path: string, token = user.token): Promise<Answer> {
  return test.call(`GET /metadata/${path}`, { token });
}

function remove(path: string, token = user.token): Promise<Answer> {
  return test.call(`DELETE /metadata/${path}`, { token });
}

function assertMissing(answer: Answer): void {
  assertError(answer, 404, "ItemDoesNotExist", 769, "The item does not exist.");
}

function item(fields: { key: string; value: unknown; visibility?: string; location?: object }, created = test.now()) {
  const dates = { created: formatDate(created), lastModified: formatDate(test.now()) };
  return { visibility: "User", ...fields, ...dates };
}

describe("PUT /metadata/{id}/{key}: spec/metadata#put-a-value", () => {
  it("answers 201 true for a new key, then 200 true; GET returns the last value, the first creation and the last change", async () => {
    assertResult(await put("me/color", { value: "blue" }), 201, true);
    const created = test.now();
    test.advance(1_000);
    assertResult(await put("me/color", { value: ["red", null] }), 200, true);
    assertResult(await get("me/color"), 200, item({ key: "color", value: ["red", null] }, created));
  });

  it("preserves a location until a PUT omits it", async () => {
    await put("me/place", { value: 1, location: "48.2, 16.3" });
    const location = { lat: 48.2, lng: 16.3 };
    assertResult(await get("me/place"), 200, item({ key: "place", value: 1, location }));
    await put("me/place", { value: 1 });
    assertResult(await get("me/place"), 200, item({ key: "place", value: 1 }));
  });

  it("stores App and User as separate slots, with User as the default, in any case, and with empty as absent", async () => {
    assertResult(await put("app/slots", { value: "shared", visibility: "app" }), 201, true);
    assertMissing(await get("app/slots"));
    assertResult(await put("app/slots", { value: "mine" }), 201, true);
    const [shared, mine] = ["shared", "mine"].map((value) => item({ key: "slots", value }));
    assertResult(await get("app/slots?visibility=APP"), 200, { ...shared, visibility: "App" });
    assertResult(await get("app/slots?visibility=user"), 200, mine);
    assertResult(await get("app/slots?visibility="), 200, mine);
    const other = await test.signUp();
    assertMissing(await get("app/slots", other.token));
    assertResult(await get("app/slots?Visibility=App", other.token), 200, { ...shared, visibility: "App" });
    const both = await get("app/slots?visibility=Both");
    assertError(both, 400, "ParameterIncorrectFormat", 515, "visibility must be one of User, App.");
  });

  it("answers 400 ParameterMissingRequiredValue without a value or with null, and accepts the empty string as a value", async () => {
    for (const body of [{}, { value: null }, "", '{"Value":null}']) {
      const answer = await put("me/none", body);
      assertError(answer, 400, "ParameterMissingRequiredValue", 513, "value is required.");
    }
    assertMissing(await get("me/none"));
    assertResult(await put("me/none", { value: "" }), 201, true);
    assertResult(await get("me/none"), 200, item({ key: "none", value: "" }));
  });

  it("answers 201 to one of several concurrent PUTs of a new key, and 200 to all others", async () => {
    const answers = await Promise.all(Array.from({ length: 50 }, (_, n) => put("me/race", { value: n })));
    const statuses = answers.map(({ status }) => status).sort();
    assert.deepEqual(statuses, [...Array(49).fill(200), 201]);
  });

  it("ignores fields that the service sets: a PUT of a complete item changes only its value", async () => {
    await put("me/echo", { value: 1 });
    const { body } = await get("me/echo");
    const created = test.now();
    test.advance(5);
    assertResult(await put("me/echo", { ...body.result, created: {}, lastModified: [], value: 2 }), 200, true);
    assertResult(await get("me/echo"), 200, item({ key: "echo", value: 2 }, created));
  });
});

// spec/metadata#metadata-keys
describe("metadata keys", () => {
  it("are any Unicode up to 256 characters, byte-exact: case, normalization, wildcards, marks, prototype names", async () => {
    const keys = [
      ..."%_\\*?/'\";: \u202E\uFEFF",
      ...[
        "__proto__",
        "constructor",
        "toString",
        "increment",
        "..",
        "%2e%2e",
        "a/b",
        "null",
        "5",
        "\u{10FFFF}",
        "\uFFFD",
      ],
      ...["É", "é", "e\u0301", "A", "a", "😀".repeat(256), "\u0301".repeat(256), "x".repeat(256)],
    ];
    for (const key of keys) assertResult(await put(`me/${encodeURIComponent(key)}`, { value: key }), 201, true);
    for (const key of keys) {
      assertResult(await get(`me/${encodeURIComponent(key)}`), 200, item({ key, value: key }));
      assertResult(await remove(`me/${encodeURIComponent(key)}`), 200, true);
      assertMissing(await get(`me/${encodeURIComponent(key)}`));
    }
  });

  it("are refused with 257 characters as ParameterOutOfRange, and with NUL as ParameterIncorrectFormat", async () => {
    for (const [key, status, error, number, message] of [
      ["😀".repeat(257), 400, "ParameterOutOfRange", 514, "key must have at most 256 characters."],
      ["a\0", 400, "ParameterIncorrectFormat", 515, "key must be Unicode text without NUL."],
    ] as const) {
      for (const answer of [
        await put(`me/${encodeURIComponent(key)}`, { value: 1 }),
        await get(`me/${encodeURIComponent(key)}`),
        await put("me", { values: { fine: 1, [key]: 1 } }),
      ]) {
        assertError(answer, status, error, number, message);
      }
    }
    assertMissing(await get("me/fine"));
  });
});

describe("DELETE /metadata/{id}/{key}", () => {
  it("returns true and then ItemDoesNotExist, for the visibility in the query or the body, and does not change the other slot", async () => {
    for (const visibility of ["App", "User"]) await put("app/gone", { value: visibility, visibility });
    assertResult(await remove("app/gone?visibility=App"), 200, true);
    assertMissing(await remove("app/gone?visibility=App"));
    assertResult(await get("app/gone"), 200, item({ key: "gone", value: "User" }));
    await put("app/gone", { value: 1, visibility: "App" });
    const body = { visibility: "App" };
    assertResult(await test.call("DELETE /metadata/app/gone", { token: user.token, body }), 200, true);
    assertResult(await remove("app/gone"), 200, true);
    assertMissing(await get("app/gone"));
    assertMissing(await remove("me/never"));
  });

  it("returns true to one of several concurrent calls, and ItemDoesNotExist to the others", async () => {
    await put("me/once", { value: 1 });
    const answers = await Promise.all(Array.from({ length: 8 }, () => remove("me/once")));
    assert.deepEqual(answers.map(({ status }) => status).sort(), [200, ...Array(7).fill(404)]);
  });
});

// spec/metadata#put-many-values
describe("PUT /metadata/{id}", () => {
  it("stores all values and answers 200 true even when all are new, accepts null values, and replaces existing ones", async () => {
    await put("me/bulk%20a", { value: 0, location: "1,2" });
    const created = test.now();
    test.advance(1_000);
    const values = { "bulk a": null, "bulk b": { c: [null] }, "": 1 };
    const refused = await put("me", { values });
    assertError(refused, 400, "ParameterMissingRequiredValue", 513, "key is required.");
    assertResult(await put("me", { values: { "bulk a": null, "bulk b": { c: [null] } } }), 200, true);
    assertResult(await get("me/bulk%20a"), 200, item({ key: "bulk a", value: null }, created));
    assertResult(await get("me/bulk%20b"), 200, item({ key: "bulk b", value: { c: [null] } }));
  });

  it("accepts the object as a string, too, in JSON and in a form, and __proto__ as a key like any other", async () => {
    const json = '{"__proto__":12345678901234567890,"bulk text":"x"}';
    const headers = { "content-type": "application/x-www-form-urlencoded" };
    for (const options of [
      { body: `{"values":${json}}` },
      { body: { values: json } },
      { body: new URLSearchParams({ values: json }).toString(), headers },
    ]) {
      assertResult(await test.call("PUT /metadata/me", { token: user.token, ...options }), 200, true);
      assert.match((await get("me/__proto__")).text, /"value":12345678901234567890,/);
      assertResult(await remove("me/__proto__"), 200, true);
    }
    for (const values of ["[]", "nonsense", "1", [1], 5, true]) {
      const answer = await put("me", { values });
      assertError(answer, 400, "ParameterIncorrectFormat", 515, "values must be an object.");
    }
    for (const body of [{}, { values: null }, { values: "" }]) {
      assertError(await put("me", body), 400, "ParameterMissingRequiredValue", 513, "values is required.");
    }
    assertResult(await put("me", { values: {} }), 200, true);
  });

  it("stores 100 values, and answers RequestTooLarge for 101; one invalid value prevents all changes", async () => {
    const many = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, n) => [`many ${n}`, n]));
    assertError(await put("me", { values: many(101) }), 413, "RequestTooLarge", 1281, "values may have 100 members.");
    assertMissing(await get("me/many%200"));
    assertResult(await put("me", { values: many(100) }), 200, true);
    assertResult(await get("me/many%2099"), 200, item({ key: "many 99", value: 99 }));
    const large = { values: { ...many(10), "many 5": "x".repeat(32_768) }, visibility: "App" };
    const answer = await put("me", large);
    assertError(answer, 413, "RequestTooLarge", 1281, "The value of many 5 is larger than 32768 bytes of JSON.");
    assertMissing(await get("me/many%200?visibility=App"));
  });

  it("succeeds for concurrent calls with the same keys in different orders, one of which determines all values", async () => {
    const keys = Array.from({ length: 40 }, (_, n) => `together ${n}`);
    const puts = Array.from({ length: 20 }, (_, n) => {
      const ordered = n % 2 === 0 ? keys : keys.toReversed();
      return put("app", { values: Object.fromEntries(ordered.map((key) => [key, n])), visibility: "App" });
    });
    for (const answer of await Promise.all(puts)) assertResult(answer, 200, true);
    const { body } = await get("app?visibility=App&keyPrefix=together");
    const values: { value: number }[] = body.result.pageResults;
    assert.equal(new Set(values.map(({ value }) => value)).size, 1);
    assert.equal(values.length, 40);
  });
});

import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import fc from "fast-check";
import { assertError, assertResult, startTestApp, type TestApp, type TestUser } from "../../test/harness.ts";
import { rounds } from "../../test/rounds.ts";
import type { MetadataRow } from "../db/tables.ts";
import { cellOf } from "../lib/cells.ts";
import { formatDate } from "../lib/dates.ts";
import { compareKeys } from "../lib/keyset.ts";

let test: TestApp;
let user: TestUser;
before(async () => {
  test = await startTestApp();
  user = await test.signUp();
});
after(() => test.close());

interface ListedPage {
  readonly pageResults: readonly { readonly key: string; readonly value: unknown }[];
  readonly currentToken: string;
  readonly nextToken?: string;
  readonly previousToken?: string;
}

async function list(id: string, query: Readonly<Record<string, string | number>>, by = user): Promise<ListedPage> {
  const text = new URLSearchParams(Object.entries(query).map(([name, value]) => [name, String(value)]));
  const { status, body } = await test.call(`GET /metadata/${id}?${text}`, { token: by.token });
  assert.equal(status, 200, `${text}: ${body.message}`);
  return body.result;
}

async function keysOf(id: string, query: Readonly<Record<string, string | number>>, by = user): Promise<string[]> {
  return (await list(id, query, by)).pageResults.map(({ key }) => key);
}

/** Returns all keys, page by page in one direction and then back. */
async function walk(id: string, query: Readonly<Record<string, string | number>>): Promise<string[]> {
  const forward: string[][] = [];
  let page = await list(id, query);
  for (;;) {
    forward.push(page.pageResults.map(({ key }) => key));
    if (page.nextToken === undefined) break;
    page = await list(id, { pagingToken: page.nextToken, keyPrefix: "ignored" });
  }
  const backward = [page.pageResults.map(({ key }) => key)];
  while (page.previousToken !== undefined) {
    page = await list(id, { pagingToken: page.previousToken });
    backward.unshift(page.pageResults.map(({ key }) => key));
  }
  assert.deepEqual(backward.flat(), forward.flat());
  return forward.flat();
}

/** Inserts rows in the user's own slot on the user. */
async function insert(
  owner: TestUser,
  rows: readonly (Partial<MetadataRow> & { readonly key: string })[],
): Promise<void> {
  const complete = rows.map((row): MetadataRow => {
    const cell = row.lat == null || row.lng == null ? null : cellOf({ lat: row.lat, lng: row.lng });
    return {
      ...{ application_id: test.application.appid, object_id: owner.id, slot: owner.id, value: null, number: 1 },
      ...{ setter_id: null, lat: null, lng: null, seen_lat: null, seen_lng: null, created_at: 0, modified_at: 0 },
      ...{ ...row, cell, seen_cell: cell },
    };
  });
  for (let start = 0; start < complete.length; start += 500) {
    const some = complete.slice(start, start + 500);
    await test.app.database.write(({ queries }) => queries.insertInto("metadata").values(some).execute());
  }
}

describe("GET /metadata/{id}: spec/metadata#search-metadata", () => {
  it("returns complete items of one slot, the newest first, and an empty page for an empty slot", async () => {
    const { token } = user;
    const items = [];
    for (const [key, value] of [
      ["one", 1],
      ["two", { a: [null] }],
    ] as const) {
      await test.call(`PUT /metadata/app/${key}`, { token, body: { value, visibility: "App", location: "1,2" } });
      const now = formatDate(test.now());
      const location = { lat: 1, lng: 2 };
      items.unshift({ key, value, visibility: "App", location, created: now, lastModified: now });
      test.advance(1_000);
    }
    await test.call("PUT /metadata/app/three", { token, body: { value: 3 } });
    const answer = await test.call("GET /metadata/app?visibility=App", { token });
    assertResult(answer, 200, { pageResults: items, currentToken: answer.body.result.currentToken });
    assert.deepEqual(await keysOf("app", {}), ["three"]);
    assert.deepEqual(await keysOf("me", {}), []);
    assert.deepEqual(await keysOf((await test.signUp()).id, { visibility: "User" }), []);
  });

  it("compares keyPrefix literally: wildcards, case, normalization form and the last code points", async () => {
    const owner = await test.signUp();
    const keys = [
      "a",
      "a%",
      "a%b",
      "a_",
      "ab",
      "A%",
      "a\\",
      "é",
      "e\u0301",
      "\u{10FFFF}",
      "\u{10FFFF}b",
      "\uD7FFx",
      "\uE000",
    ];
    await insert(
      owner,
      keys.map((key, n) => ({ key, created_at: n })),
    );
    for (const prefix of [
      "a",
      "a%",
      "a_",
      "%",
      "_",
      "A",
      "a\\",
      "e",
      "é",
      "\u{10FFFF}",
      "\uD7FF",
      "zz",
      "a".repeat(256),
    ]) {
      const expected = keys.filter((key) => key.startsWith(prefix));
      const byKey = expected.toSorted((a, b) => compareKeys([a], [b]));
      assert.deepEqual(await keysOf("me", { keyPrefix: prefix, sortOrder: "key" }, owner), byKey);
      assert.deepEqual(await keysOf("me", { keyPrefix: prefix, sortOrder: "created" }, owner), expected);
      assert.deepEqual(await keysOf("me", { keyPrefix: prefix }, owner), expected.toReversed());
    }
    for (const key of keys) {
      for (const sortOrder of ["key", "-key", "created", "-lastModified"]) {
        assert.deepEqual(await keysOf("me", { key, sortOrder }, owner), [key]);
      }
    }
    assert.deepEqual(await keysOf("me", { key: "b" }, owner), []);
    assert.deepEqual(await keysOf("me", { key: "ab", keyPrefix: "a%" }, owner), []);
  });

  it("answers 400 for invalid parameters", async () => {
    for (const [query, error, number, message] of [
      ["sortOrder=distance", "ParameterIncorrectFormat", 515, "sortOrder distance needs a locationRange."],
      ["pageSize=0", "ParameterOutOfRange", 514, "pageSize must ask for 1 to 1000 items."],
      [`keyPrefix=${"x".repeat(257)}`, "ParameterOutOfRange", 514, "keyPrefix must have at most 256 characters."],
      ["pagingToken=nonsense", "ParameterIncorrectFormat", 515, "pagingToken must be a token of this listing."],
    ] as const) {
      assertError(await test.call(`GET /metadata/me?${query}`, { token: user.token }), 400, error, number, message);
    }
    assert.equal(
      (await test.call("GET /metadata/me?sortOrder=value", { token: user.token })).body.error,
      "ParameterIncorrectFormat",
    );
  });

  it("restores filters, order and slot from a page token, which opens neither another object nor another user's slot", async () => {
    const owner = await test.signUp();
    await insert(
      owner,
      ["x1", "x2", "x3", "y"].map((key) => ({ key })),
    );
    const first = await list("me", { keyPrefix: "x", sortOrder: "-key", pageSize: 2 }, owner);
    assert.deepEqual(
      first.pageResults.map(({ key }) => key),
      ["x3", "x2"],
    );
    const pagingToken = first.nextToken ?? "";
    assert.deepEqual(await keysOf(owner.id, { pagingToken, visibility: "App", keyPrefix: "y", pageSize: 9 }, owner), [
      "x1",
    ]);
    const query = new URLSearchParams({ pagingToken });
    for (const [id, token] of [
      ["app", owner.token],
      [user.id, owner.token],
      [owner.id, user.token],
      [owner.id, owner.deviceToken],
    ]) {
      const answer = await test.call(`GET /metadata/${id}?${query}`, { token: `${token}` });
      assertError(answer, 400, "ParameterIncorrectFormat", 515, "pagingToken must be a token of this listing.");
    }
  });

  it("omits an item that is deleted between the search and the response", async () => {
    const owner = await test.signUp();
    await insert(
      owner,
      Array.from({ length: 60 }, (_, n) => ({ key: `k${n}` })),
    );
    const removals = Array.from({ length: 60 }, (_, n) =>
      test.call(`DELETE /metadata/me/k${n}`, { token: owner.token }),
    );
    const pages = await Promise.all(Array.from({ length: 20 }, () => list("me", {}, owner)));
    await Promise.all(removals);
    for (const { pageResults } of pages) for (const { value } of pageResults) assert.equal(value, 1);
    assert.deepEqual(await keysOf("me", {}, owner), []);
  });

  const keys = fc.string({ unit: fc.constantFrom("a", "b", "%", "é", "😀", "\uFFFD"), minLength: 1, maxLength: 3 });
  const rows = fc.uniqueArray(
    fc.record({
      key: keys,
      created_at: fc.integer({ min: -2, max: 3 }),
      modified_at: fc.integer({ min: 0, max: 2 }),
      lat: fc.constantFrom(null, 0, 0.001, 90),
    }),
    { selector: ({ key }) => key, maxLength: 40 },
  );
  const given = fc.record({
    sortOrder: fc.constantFrom("created", "-created", "lastModified", "-lastModified", "key", "-key"),
    pageSize: fc.integer({ min: 1, max: 9 }),
    keyPrefix: fc.option(fc.constantFrom("a", "é", "😀", "ab"), { nil: undefined }),
    lastModified: fc.option(fc.constantFrom("1-", "-1", "1-1"), { nil: undefined }),
    isNear: fc.boolean(),
  });

  it("returns every item once, forward and back, for any keys, filters, order and page size", async () => {
    await fc.assert(
      fc.asyncProperty(rows, given, async (all, { sortOrder, pageSize, keyPrefix, lastModified, isNear }) => {
        const owner = await test.signUp();
        await insert(
          owner,
          all.map((row) => ({ ...row, lng: row.lat === null ? null : 0 })),
        );
        const [from, to] = { "1-": [1, 9], "-1": [0, 1], "1-1": [1, 1], "": [0, 9] }[lastModified ?? ""] ?? [];
        const column = { created: "created_at", lastModified: "modified_at", key: "key" }[sortOrder.replace("-", "")];
        const sign = sortOrder.startsWith("-") ? -1 : 1;
        const keyOf = (row: (typeof all)[number]) => [row[column as "key"], row.key]; // one of the three
        const expected = all
          .filter(({ key }) => key.startsWith(keyPrefix ?? ""))
          .filter(({ modified_at }) => modified_at >= Number(from) && modified_at <= Number(to))
          .filter(({ lat }) => !isNear || lat === 0 || lat === 0.001)
          .toSorted((a, b) => sign * compareKeys(keyOf(a), keyOf(b)));
        const mine = user;
        user = owner;
        const found = await walk("me", {
          ...{ sortOrder, pageSize },
          ...(keyPrefix && { keyPrefix }),
          ...(lastModified && { lastModified }),
          ...(isNear && { locationRange: "0,0,200" }),
        }).finally(() => {
          user = mine;
        });
        assert.deepEqual(
          found,
          expected.map(({ key }) => key),
        );
      }),
      { numRuns: rounds(60) },
    );
  });

  it("pages as well through thousands of keys with one prefix, or in one area, as through a few", async () => {
    const owner = await test.signUp();
    const many = Array.from({ length: 2_600 }, (_, n) => ({
      ...{ key: `many ${String(n).padStart(4, "0")}`, created_at: (n * 7) % 100, lat: 10, lng: 10 + n / 100_000 },
    }));
    await insert(owner, [...many, { key: "lonely" }]);
    const mine = user;
    user = owner;
    try {
      const byCreation = many.toSorted((a, b) => compareKeys([a.created_at, a.key], [b.created_at, b.key]));
      const expected = byCreation.map(({ key }) => key);
      for (const filter of [{ keyPrefix: "many" }, { locationRange: "10,10,100000" }]) {
        assert.deepEqual(await walk("me", { ...filter, sortOrder: "created", pageSize: 700 }), expected);
        const byKey = await walk("me", { ...filter, sortOrder: "-key", pageSize: 900 });
        assert.deepEqual(byKey, expected.toSorted().reverse());
      }
      const byDistance = await walk("me", { locationRange: "10,10,100000", sortOrder: "distance", pageSize: 800 });
      assert.deepEqual(
        byDistance,
        many.map(({ key }) => key),
      );
    } finally {
      user = mine;
    }
  });
});

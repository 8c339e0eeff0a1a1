import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { type Answer, assertError, startTestApp, type TestApp, type TestUser } from "../../test/harness.ts";
import { checkinRow, idsOf, insertCheckins, readCheckins, walkCheckins } from "../../test/rows.ts";
import type { CheckinRow } from "../db/tables.ts";
import { checkinOrders } from "./checkins.contract.ts";

/** Strings with special characters, and two strings with a common prefix longer than the index key. */
const long = "👍".repeat(128);
const texts = [
  null,
  "a",
  "A",
  "%",
  "_",
  "\\",
  "'",
  '"',
  "a%",
  "__",
  "'; --",
  "é",
  "e\u0301",
  "ﬀ",
  "😀",
  "\u{10FFFF}",
  "\uFFFD",
  " a ",
  "0",
  `${long}1`,
  `${long}2`,
  long,
  "x".repeat(129),
];
const times = [-62_135_596_800_000, -1, 0, 1, 1_000, 1_001, 253_402_300_799_999];

let test: TestApp;
let me: TestUser;
let others: TestUser[];
let rows: CheckinRow[];
before(async () => {
  test = await startTestApp();
  me = await test.signUp();
  others = [await test.signUp(), await test.signUp()];
  const owners = [me, ...others];
  rows = Array.from({ length: 230 }, (_, n) => {
    const pick = <T>(values: readonly T[], step: number): T => values[(n * step) % values.length] as T; // never empty
    return checkinRow({
      application_id: test.application.appid,
      id: test.app.ids.newId("Checkin"),
      user_id: pick(owners, 1).id,
      tag: pick(texts, 1),
      comment: pick(texts, 5),
      description: pick(["d", null, long], 7),
      created_at: pick(times, 3),
      modified_at: pick(times, 2),
      occurred_at: pick([null, ...times], 5),
      read_permission: pick([1, null, 1, 0, 1], 1),
    });
  });
  await insertCheckins(test, rows);
});
after(() => test.close());

const keyOfOrder = {
  created: (row) => [row.created_at],
  lastModified: (row) => [row.modified_at],
  occurred: (row) => [row.occurred_at ?? row.created_at, row.created_at],
  comment: (row) => [keyOfText(row.comment), row.created_at],
  description: (row) => [keyOfText(row.description), row.created_at],
  tag: (row) => [keyOfText(row.tag), row.created_at],
} as const satisfies Record<(typeof checkinOrders)[number], (row: CheckinRow) => unknown[]>;

function keyOfText(text: string | null): Buffer {
  return Buffer.from([...(text ?? "")].slice(0, 128).join(""));
}

/** The expected result of a search, computed by scanning every row. */
function model(isMatch: (row: CheckinRow) => boolean, sortOrder = "-created", reader = me): string[] {
  const sign = sortOrder.startsWith("-") ? -1 : 1;
  const name = sortOrder.replace("-", "") as keyof typeof keyOfOrder; // the tests use no other
  const keyOf = (row: CheckinRow) => [...keyOfOrder[name](row), row.id];
  const found = rows.filter((row) => (row.user_id === reader.id || row.read_permission === 1) && isMatch(row));
  return found.sort((a, b) => sign * compare(keyOf(a), keyOf(b))).map(({ id }) => id);
}

function compare(a: readonly unknown[], b: readonly unknown[]): number {
  for (const [index, left] of a.entries()) {
    const right = b[index];
    const difference = Buffer.isBuffer(left)
      ? Buffer.compare(left, right as Buffer) // keys of one search have one type
      : left === right
        ? 0
        : (left as number) < (right as number)
          ? -1
          : 1;
    if (difference !== 0) return difference;
  }
  return 0;
}

type Query = Readonly<Record<string, string | number>>;

async function found(query: Query, reader = me): Promise<string[]> {
  return idsOf(await readCheckins(test, { pageSize: 1_000, ...query }, reader));
}

function search(query: Query, { token } = me): Promise<Answer> {
  const text = new URLSearchParams(Object.entries(query).map(([name, value]) => [name, String(value)]));
  return test.call(`GET /checkins?${text}`, { token });
}

describe("GET /checkins with filters: spec/search#filters", () => {
  it("finds the caller's check-ins and shared ones of others, merged into one order, without filters", async () => {
    for (const reader of [me, ...others]) {
      assert.deepEqual(
        await found({}, reader),
        model(() => true, "-created", reader),
      );
      for (const sortOrder of checkinOrders) {
        const first = await readCheckins(test, { sortOrder, pageSize: 50 }, reader);
        const pages = await walkCheckins(test, first, "nextToken", reader);
        assert.deepEqual(
          pages.flatMap(idsOf),
          model(() => true, sortOrder, reader),
          sortOrder,
        );
      }
    }
  });

  it("filters by occurred, which defaults to created, in every order", async () => {
    for (const [range, start, end] of [
      ["0-1000", 0, 1_000],
      ["/Date(1)/-", 1, Number.POSITIVE_INFINITY],
      ["--1", Number.NEGATIVE_INFINITY, -1],
    ] as const) {
      for (const sortOrder of ["occurred", "-occurred", "-created", "tag"]) {
        const isIn = ({ occurred_at, created_at }: CheckinRow) => {
          const time = occurred_at ?? created_at;
          return start <= time && time <= end;
        };
        assert.deepEqual(await found({ occurred: range, sortOrder }), model(isIn, sortOrder), `${range} ${sortOrder}`);
      }
      const both = (row: CheckinRow) => row.user_id === me.id && (row.occurred_at ?? row.created_at) >= start;
      const own = await found({ occurred: `${start === Number.NEGATIVE_INFINITY ? "" : start}-`, userID: "me" });
      assert.deepEqual(own, model(both));
    }
  });

  it("filters by userID: me, the caller's id, another user's shared check-ins, and an empty page for an unknown user", async () => {
    const [other, third] = others as [TestUser, TestUser]; // there are two
    for (const userID of ["me", "ME", me.id]) {
      assert.deepEqual(
        await found({ userID }),
        model(({ user_id }) => user_id === me.id),
      );
    }
    for (const { id } of [other, third]) {
      assert.deepEqual(
        await found({ userID: id }),
        model(({ user_id }) => user_id === id),
      );
      assert.deepEqual(
        await found({ userid: id, tag: "%" }),
        model(({ user_id, tag }) => user_id === id && tag === "%"),
      );
    }
    const stranger = await test.signUp("Stranger", await test.createApplication());
    for (const userID of [test.app.ids.newId("User"), stranger.id]) assert.deepEqual(await found({ userID }), []);
    const unknown = await readCheckins(test, { userID: test.app.ids.newId("User") }, me);
    assert.deepEqual(Object.keys(unknown), ["pageResults", "currentToken"]);
  });

  it("answers 400 for a userID that is not an id, or is the id of another kind", async () => {
    for (const userID of ["nobody", "usr_", `${me.id} `, "'", "meme"]) {
      assertError(await search({ userID }), 400, "ParameterIncorrectFormat", 515, "userID must be an id.");
    }
    const rule = "Incorrect id type, expected User.";
    for (const userID of [rows[0]?.id ?? "", test.application.appid]) {
      assertError(await search({ userID }), 400, "ParameterOutOfRange", 514, rule);
    }
  });

  it("compares tag, comment and description byte-exact and without wildcards", async () => {
    for (const text of [...texts.filter((each) => each !== null), "none", "d", "%%", "x".repeat(128), `${long}3`]) {
      for (const name of ["tag", "comment", "description"] as const) {
        assert.deepEqual(
          await found({ [name]: text }),
          model((row) => row[name] === text),
          `${name} ${text.slice(0, 9)}`,
        );
      }
    }
  });

  it("ignores an empty filter", async () => {
    const empty = { tag: "", comment: "", userID: "", created: "", lastModified: "", locationRange: "", sortOrder: "" };
    assert.deepEqual(
      await found(empty),
      model(() => true),
    );
  });

  it("answers 400 for strings that are too long, and for other types", async () => {
    for (const [name, length] of [
      ["tag", 256],
      ["comment", 4_000],
      ["description", 4_000],
    ] as const) {
      assert.deepEqual(await found({ [name]: "y".repeat(length) }), []);
      const rule = `${name} must have at most ${length} characters.`;
      assertError(await search({ [name]: "y".repeat(length + 1) }), 400, "ParameterOutOfRange", 514, rule);
      const noNul = `${name} must be Unicode text without NUL.`;
      assertError(await search({ [name]: "a\0" }), 400, "ParameterIncorrectFormat", 515, noNul);
    }
  });

  it("filters created and lastModified by every range, open or closed, before 1970 and in year 9999, and by pairs of ranges", async () => {
    const ends = [undefined, -62_135_596_800_000, -1, 0, 1_000, 5_000, 253_402_300_799_999];
    const isIn = (time: number, start = Number.NEGATIVE_INFINITY, end = Number.POSITIVE_INFINITY) =>
      start <= time && time <= end;
    const form = (end?: number) => (end === undefined ? "" : `/Date(${end})/`);
    for (const [n, start] of ends.entries()) {
      for (const [m, end] of ends.entries()) {
        if (start !== undefined && end !== undefined && end < start) continue;
        const range = `${form(start)}-${form(end)}`;
        const byCreated = model(({ created_at }) => isIn(created_at, start, end));
        assert.deepEqual(await found({ created: range }), byCreated, range);
        const byModified = model(({ modified_at }) => isIn(modified_at, start, end), "lastModified");
        assert.deepEqual(await found({ lastModified: range, sortOrder: "lastModified" }), byModified, range);
        const both = {
          created: range,
          lastModified: `${form(ends[m])}-`,
          sortOrder: n % 2 === 0 ? "tag" : "-tag",
          pageSize: 4,
        };
        const pages = await walkCheckins(test, await readCheckins(test, both, me), "nextToken", me);
        const expected = model(
          (row) => isIn(row.created_at, start, end) && isIn(row.modified_at, ends[m]),
          both.sortOrder,
        );
        assert.deepEqual(pages.flatMap(idsOf), expected, range);
      }
    }
  });

  it("answers 400 for malformed ranges, impossible dates, and ranges whose end precedes their start", async () => {
    for (const name of ["created", "lastModified"]) {
      for (const [range, error] of [
        ["5", "ParameterIncorrectFormat"],
        ["2015-02-30-", "ParameterIncorrectFormat"],
        ["NaN-NaN", "ParameterIncorrectFormat"],
        ["1e3-", "ParameterIncorrectFormat"],
        ["1000-999", "ParameterOutOfRange"],
        ["99999999999999999-", "ParameterOutOfRange"],
      ] as const) {
        const { status, body } = await search({ [name]: range });
        assert.deepEqual([status, body.error], [400, error], range);
        assert.match(body.message, new RegExp(`^${name} must `));
      }
    }
  });

  it("finds the check-ins that match all combined filters", async () => {
    for (const row of rows.filter((_, n) => n % 10 === 0)) {
      const { user_id, tag, comment, description, created_at, modified_at } = row;
      const query: Query = {
        userID: user_id,
        ...(tag !== null && { tag }),
        ...(comment !== null && { comment }),
        ...(description !== null && { description }),
        created: `-${created_at}`,
        lastModified: `${modified_at}-`,
        sortOrder: tag === null ? "comment" : "-tag",
      };
      const expected = model(
        (each) =>
          each.user_id === user_id &&
          (tag === null || each.tag === tag) &&
          (comment === null || each.comment === comment) &&
          (description === null || each.description === description) &&
          each.created_at <= created_at &&
          each.modified_at >= modified_at,
        `${query["sortOrder"]}`,
      );
      assert.deepEqual(await found(query), expected);
    }
  });
});

describe("GET /checkins in an order: spec/search#sort-order", () => {
  it("returns every order and its reverse, in any case: absent values first, then by bytes, ties by creation", async () => {
    for (const name of checkinOrders) {
      for (const sortOrder of [name, `-${name}`]) {
        const expected = model(() => true, sortOrder);
        assert.deepEqual(await found({ sortOrder: sortOrder.toUpperCase() }), expected, sortOrder);
        const first = await readCheckins(test, { sortOrder, pageSize: 20 }, me);
        const pages = await walkCheckins(test, first, "nextToken", me);
        assert.deepEqual(pages.flatMap(idsOf), expected, sortOrder);
        const last = pages.at(-1);
        assert.ok(last !== undefined);
        const back = await walkCheckins(test, last, "previousToken", me);
        assert.deepEqual(back.reverse().flatMap(idsOf), expected, `${sortOrder} back`);
      }
    }
    for (const name of ["comment", "description", "tag"] as const) {
      const [first = ""] = await found({ sortOrder: name });
      assert.equal(rows.find(({ id }) => id === first)?.[name], null);
    }
  });

  it("answers 400 ParameterIncorrectFormat for an unknown order", async () => {
    for (const sortOrder of [
      "id",
      "--created",
      "+created",
      "created,tag",
      "created desc",
      "userID",
      "cell",
      "-",
      "0",
      "__proto__",
    ]) {
      const { status, body } = await search({ sortOrder });
      assert.deepEqual([status, body.error, body.errorNumber], [400, "ParameterIncorrectFormat", 515], sortOrder);
      assert.match(body.message, /^sortOrder must be one of created, -created, /);
    }
  });

  it("answers 400 ParameterIncorrectFormat for distance without a locationRange", async () => {
    for (const sortOrder of ["distance", "-Distance"]) {
      const rule = "sortOrder distance needs a locationRange.";
      assertError(await search({ sortOrder }), 400, "ParameterIncorrectFormat", 515, rule);
    }
    assert.equal((await found({ sortOrder: "distance", locationRange: "1,2,0" })).length, model(() => true).length);
  });
});

describe("a page token of GET /checkins: spec/search#page-tokens, hostile.md 14", () => {
  const query = { tag: "a%", sortOrder: "comment", pageSize: 2, created: "-1001", locationRange: "-90,-180-90,180" };
  const isMatch = (row: CheckinRow) => row.tag === "a%" && row.created_at <= 1_001;
  const garbage = {
    tag: "\0",
    sortOrder: "none",
    created: "5-1",
    pageSize: 0,
    userID: "x",
    locationRange: "x",
    comment: "y",
  };

  it("restores filters, order and page size, and overrides all other parameters", async () => {
    const expected = model(isMatch, "comment");
    assert.ok(expected.length > 4);
    for (const beside of [{}, garbage, { sortOrder: "-created", tag: "A" }]) {
      const seen: string[] = [];
      let page = await readCheckins(test, query, me);
      for (;;) {
        seen.push(...idsOf(page));
        assert.ok(page.pageResults.length <= 2);
        const again = await readCheckins(test, { pagingToken: page.currentToken, ...beside }, me);
        assert.deepEqual(again.pageResults, page.pageResults);
        if (page.nextToken === undefined) break;
        page = await readCheckins(test, { ...beside, PAGINGTOKEN: page.nextToken }, me);
      }
      assert.deepEqual(seen, expected);
    }
  });

  it("is accepted only from its user, in its application and listing", async () => {
    const rule = "pagingToken must be a token of this listing.";
    const application = await test.createApplication();
    const stranger = await test.signUp("Another stranger", application);
    const { nextToken = "", currentToken } = await readCheckins(test, query, me);
    for (const pagingToken of [nextToken, currentToken]) {
      for (const reader of [...others, stranger]) {
        assertError(await search({ pagingToken }, reader), 400, "ParameterIncorrectFormat", 515, rule);
      }
      for (const listing of ["/users", "/users/me/identities", "/users/me/tokens"]) {
        const elsewhere = await test.call(`GET ${listing}?pagingToken=${pagingToken}`, { token: me.token });
        assertError(elsewhere, 400, "ParameterIncorrectFormat", 515, rule);
      }
    }
  });

  it("can be combined with filters and order in its plain form", async () => {
    const expected = model(isMatch, "comment");
    const { pageSize: _, ...filters } = query;
    const page = await readCheckins(test, { ...filters, pagingToken: "2;1" }, me);
    assert.deepEqual(idsOf(page), expected.slice(1, 3));
    const next = await readCheckins(test, { pagingToken: page.nextToken ?? "" }, me);
    assert.deepEqual(idsOf(next), expected.slice(3, 5));
    const wrong = await search({ ...garbage, pagingToken: "10;20" });
    assert.equal(wrong.status, 400);
  });

  it("can contain the longest filters", async () => {
    const filters = { comment: "c".repeat(4_000), description: '"'.repeat(2_000), tag: "👍".repeat(256) };
    const { currentToken } = await readCheckins(test, filters, me);
    assert.deepEqual((await readCheckins(test, { pagingToken: currentToken }, me)).pageResults, []);
  });
});

describe("a check-in that changes while a page is read", () => {
  it("appears exactly once, even if one part of the search read its previous state", async () => {
    const application = await test.createApplication();
    const owner = await test.signUp(undefined, application);
    const shared = Array.from({ length: 20 }, () =>
      checkinRow({
        application_id: application.appid,
        id: test.app.ids.newId("Checkin"),
        user_id: owner.id,
        read_permission: 1,
      }),
    );
    await insertCheckins(test, shared);
    let isRead = false;
    async function change(): Promise<void> {
      for (let time = 1; !isRead; time += 1) {
        const { id = "" } = shared[time % shared.length] ?? {};
        await test.app.database.write(({ queries }) =>
          queries.updateTable("checkins").set({ modified_at: time }).where("id", "=", id).execute(),
        );
      }
    }
    const changing = change();
    const seen = new Set<number>();
    for (let pages = 0; pages < 100; pages += 1) {
      const ids = idsOf(await readCheckins(test, { sortOrder: "lastModified", pageSize: 100 }, owner));
      seen.add(ids.length - new Set(ids).size);
    }
    isRead = true;
    await changing;
    assert.deepEqual([...seen], [0]);
  });
});

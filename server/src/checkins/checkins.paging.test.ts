import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import fc from "fast-check";
import { type Answer, assertError, startTestApp, type TestApp, type TestUser } from "../../test/harness.ts";
import { rounds } from "../../test/rounds.ts";
import { checkinRow } from "../../test/rows.ts";
import type { CheckinRow } from "../db/tables.ts";

interface Page {
  readonly pageResults: readonly { readonly id: string }[];
  readonly currentToken: string;
  readonly nextToken?: string;
  readonly previousToken?: string;
}

let test: TestApp;
let user: TestUser;
/** The ids of the user's 250 check-ins, newest first. Some have equal times. */
let ids: string[];
before(async () => {
  test = await startTestApp();
  user = await test.signUp();
  const rows = Array.from({ length: 250 }, (_, n) => newRow(user, 1_000_000 + Math.floor(n / 3)));
  await insert(rows);
  ids = rows.map(({ id }) => id).reverse();
});
after(() => test.close());

function newRow(owner: TestUser, createdAt: number): CheckinRow {
  return checkinRow({
    application_id: test.application.appid,
    id: test.app.ids.newId("Checkin"),
    user_id: owner.id,
    created_at: createdAt,
  });
}

async function insert(rows: readonly CheckinRow[]): Promise<void> {
  if (rows.length === 0) return;
  await test.app.database.write(({ queries }) => queries.insertInto("checkins").values(rows).execute());
}

async function remove(rows: readonly CheckinRow[]): Promise<void> {
  const gone = rows.map(({ id }) => id);
  if (gone.length === 0) return;
  await test.app.database.write(({ queries }) =>
    queries
      .deleteFrom("checkins")
      .where("application_id", "=", test.application.appid)
      .where("id", "in", gone)
      .execute(),
  );
}

function list(query: string, { token } = user): Promise<Answer> {
  return test.call(`GET /checkins?${query}`, { token });
}

async function read(query: string, owner = user): Promise<Page> {
  const { status, body } = await list(query, owner);
  assert.equal(status, 200, body.message);
  return body.result;
}

function idsOf({ pageResults }: Page): string[] {
  return pageResults.map(({ id }) => id);
}

async function readInBatch(parameters: Readonly<Record<string, unknown>>, { token }: TestUser): Promise<Page> {
  const requests = [{ method: "GET", path: "/checkins", parameters }];
  const { body } = await test.call("POST /batch", { token, body: { requests } });
  const [{ status, message, result }] = body.result.responses;
  assert.equal(status, 200, message);
  return result;
}

/** Reads all pages from this one on, in one direction. */
async function walk(first: Page, direction: "nextToken" | "previousToken", owner = user): Promise<Page[]> {
  const pages = [first];
  for (let token = first[direction]; token !== undefined; ) {
    const page = await read(`pagingToken=${token}`, owner);
    pages.push(page);
    token = page[direction];
    assert.ok(pages.length < 1_000, "paging does not end");
  }
  return pages;
}

describe("GET /checkins, page by page: spec/search#page-tokens", () => {
  for (const size of [1, 7, 100]) {
    it(`returns every check-in exactly once and newest first, forward and back, in pages of ${size}`, async () => {
      // Pages of one row are slow, so a hundred rows suffice.
      const expected = size === 1 ? ids.slice(190) : ids;
      const first = size === 1 ? await read(`pageSize=1&created=-${1_000_019}`) : await read(`pageSize=${size}`);
      const forward = await walk(first, "nextToken");
      assert.deepEqual(forward.flatMap(idsOf), expected);
      for (const [n, page] of forward.entries()) {
        assert.equal(typeof page.currentToken, "string");
        assert.equal("previousToken" in page, n > 0, `previousToken of page ${n}`);
        assert.equal("nextToken" in page, n < forward.length - 1, `nextToken of page ${n}`);
        const isLast = n === forward.length - 1;
        assert.equal(page.pageResults.length, isLast ? ((expected.length - 1) % size) + 1 : size);
      }

      const last = forward.at(-1);
      assert.ok(last);
      const back = await walk(last, "previousToken");
      assert.deepEqual(back.reverse().flatMap(idsOf), expected);
    });
  }

  it("returns 100 items by default and at most 1,000", async () => {
    assert.deepEqual(idsOf(await read("")), ids.slice(0, 100));
    assert.deepEqual(idsOf(await read("pageSize=1000")), ids);
    for (const size of ["0", "1001", "-1"]) {
      const rule = "pageSize must ask for 1 to 1000 items.";
      assertError(await list(`pageSize=${size}`), 400, "ParameterOutOfRange", 514, rule);
    }
    const rule = "pageSize must be an integer.";
    assertError(await list("pageSize=many"), 400, "ParameterIncorrectFormat", 515, rule);
  });

  it("returns no nextToken when the page contains exactly the remaining items", async () => {
    const page = await read("pageSize=250");
    assert.equal(page.pageResults.length, 250);
    assert.ok(!("nextToken" in page) && !("previousToken" in page));
  });

  it("returns the same page again for its currentToken", async () => {
    const first = await read("pageSize=50");
    const second = await read(`pagingToken=${first.nextToken}`);
    const firstAgain = await read(`pagingToken=${second.previousToken}`);
    for (const page of [first, second, firstAgain]) {
      const { currentToken: _, nextToken, previousToken, ...again } = await read(`pagingToken=${page.currentToken}`);
      assert.deepEqual(again.pageResults, page.pageResults);
      assert.equal(nextToken === undefined, page.nextToken === undefined);
      assert.equal(previousToken === undefined, page.previousToken === undefined);
    }
  });

  it("returns the token of the request as currentToken", async () => {
    const { nextToken = "" } = await read("pageSize=7");
    const next = await read(`pagingToken=${nextToken}`);
    assert.equal(next.currentToken, nextToken);
    const { nextToken: third = "", previousToken: first = "" } = next;
    assert.ok(third.length < nextToken.length * 1.5); // contains no earlier token
    assert.equal((await read(`pagingToken=${first}`)).currentToken, first);
  });

  it("restores filters and page size from a token, and ignores other parameters", async () => {
    const first = await read("pageSize=4&created=1000010-1000012");
    assert.deepEqual(idsOf(first), ids.slice(-39, -30).slice(0, 4));
    const second = await read(`pagingToken=${first.nextToken}`);
    assert.deepEqual(idsOf(second), ids.slice(-39, -30).slice(4, 8));
    const beside = `pageSize=1&created=5-6&lastModified=7-8&pagingToken=${first.nextToken}`;
    assert.deepEqual(idsOf(await read(beside)), idsOf(second));
    const third = await read(`pagingToken=${second.nextToken}`);
    assert.deepEqual(idsOf(third), ids.slice(-39, -30).slice(8));
    assert.ok(!("nextToken" in third));
  });

  it("ignores even invalid parameters if there is a token", async () => {
    const first = await read("pageSize=4");
    const beside = `pageSize=many&created=yesterday&pagingToken=${first.nextToken}`;
    assert.deepEqual(idsOf(await read(beside)), ids.slice(4, 8));
  });
});

describe("GET /checkins with long filters in a batch, where no URL limit applies", () => {
  it("accepts long page tokens", async () => {
    const comment = "\u{1F600}".repeat(4_000);
    const me = await test.signUp();
    const rows = Array.from({ length: 3 }, (_, n) => ({ ...newRow(me, n), comment, description: comment }));
    await insert(rows);
    const seen: string[] = [];
    let parameters: Record<string, unknown> = { comment, description: comment, pageSize: 1 };
    for (let pages = 0; pages < rows.length; pages += 1) {
      const page = await readInBatch(parameters, me);
      seen.push(...idsOf(page));
      assert.deepEqual(idsOf(await readInBatch({ pagingToken: page.currentToken }, me)), idsOf(page));
      parameters = { pagingToken: page.nextToken };
    }
    assert.deepEqual(seen, rows.map(({ id }) => id).reverse());
  });

  it("answers 400 ParameterIncorrectFormat for a long invalid token", async () => {
    const body = { requests: [{ method: "GET", path: "/checkins", parameters: { pagingToken: "A".repeat(20_000) } }] };
    const { body: batch } = await test.call("POST /batch", { token: user.token, body });
    const [{ status, error, message }] = batch.result.responses;
    const rule = "pagingToken must be a token of this listing.";
    assert.deepEqual([status, error, message], [400, "ParameterIncorrectFormat", rule]);
  });
});

// spec/search#offsets
describe("GET /checkins with the plain form <pageSize>;<offset>", () => {
  it("returns the page at the offset, with tokens that continue from there", async () => {
    const page = await read("pagingToken=10;20");
    assert.deepEqual(idsOf(page), ids.slice(20, 30));
    assert.deepEqual(idsOf(await read(`pagingToken=${page.nextToken}`)), ids.slice(30, 40));
    assert.deepEqual(idsOf(await read(`pagingToken=${page.previousToken}`)), ids.slice(10, 20));
    assert.deepEqual(idsOf(await read(`pagingToken=${page.currentToken}`)), ids.slice(20, 30));
  });

  it("returns a previousToken only after the first item, and a nextToken only before the last", async () => {
    const first = await read("pagingToken=10;0");
    assert.ok(!("previousToken" in first) && "nextToken" in first);
    const last = await read("pagingToken=10;240");
    assert.ok("previousToken" in last && !("nextToken" in last));
    const beyond = await read("pagingToken=10;250");
    assert.deepEqual(beyond.pageResults, []);
    assert.ok("previousToken" in beyond && !("nextToken" in beyond));
    assert.deepEqual(idsOf(await read(`pagingToken=${beyond.previousToken}`)), ids.slice(240));
    for (const offset of ["9".repeat(16), "9".repeat(400)]) {
      assert.deepEqual((await read(`pagingToken=10;${offset}`)).pageResults, [], offset);
    }
  });

  it("accepts filters in the same call", async () => {
    assert.deepEqual(idsOf(await read("pagingToken=2;1&created=1000010-1000012")), ids.slice(-38, -36));
  });

  it("answers 400 ParameterOutOfRange for a page size of zero or above the maximum", async () => {
    const rule = "pagingToken must ask for 1 to 1000 items.";
    for (const token of ["0;0", "1001;0", "999999999999;5", `${"9".repeat(400)};5`]) {
      assertError(await list(`pagingToken=${token}`), 400, "ParameterOutOfRange", 514, rule);
    }
    assert.equal((await read("pagingToken=1000;0")).pageResults.length, 250);
  });
});

describe("GET /checkins with a foreign token", () => {
  const rule = "pagingToken must be a token of this listing.";

  it("answers 400 ParameterIncorrectFormat for every malformed or forged token", async () => {
    const { nextToken = "" } = await read("pageSize=4");
    const middle = Math.floor(nextToken.length / 2);
    const flipped = nextToken[middle] === "A" ? "B" : "A";
    for (const token of [
      "garbage",
      "10",
      "10;",
      ";20",
      "-1;0",
      "10;-1",
      "1e1;0",
      "10;20;30",
      nextToken.slice(0, -1),
      `${nextToken}A`,
      nextToken.slice(0, middle) + flipped + nextToken.slice(middle + 1),
      user.token,
      user.token.split(".")[1] ?? "",
    ]) {
      assertError(await list(`pagingToken=${token}`), 400, "ParameterIncorrectFormat", 515, rule);
    }
  });

  it("answers 400 ParameterIncorrectFormat for a token of another user, application or listing", async () => {
    const other = await test.signUp();
    await insert(Array.from({ length: 3 }, () => newRow(other, 5)));
    const stranger = await test.signUp("Stranger", await test.createApplication());
    const { nextToken, currentToken } = await read("pageSize=1", other);
    for (const token of [nextToken, currentToken]) {
      for (const reader of [user, stranger]) {
        assertError(await list(`pagingToken=${token}`, reader), 400, "ParameterIncorrectFormat", 515, rule);
      }
      const elsewhere = await test.call(`GET /users/me/identities?pagingToken=${token}`, { token: other.token });
      assertError(elsewhere, 400, "ParameterIncorrectFormat", 515, rule);
    }
  });
});

describe("GET /checkins while check-ins are created and deleted", () => {
  it("pages back from a page whose items were deleted", async () => {
    const me = await test.signUp();
    const rows = Array.from({ length: 5 }, (_, n) => newRow(me, n));
    await insert(rows);
    const first = await read("pageSize=3", me);
    await remove(rows.slice(0, 2));
    const empty = await read(`pagingToken=${first.nextToken}`, me);
    assert.deepEqual(empty.pageResults, []);
    assert.ok(!("nextToken" in empty));
    assert.deepEqual(idsOf(await read(`pagingToken=${empty.previousToken}`, me)), idsOf(first));
  });

  it("neither skips nor repeats remaining rows in either direction", async () => {
    const times = fc.integer({ min: 0, max: 9 });
    const changes = fc.record({
      created: fc.array(times, { maxLength: 4 }),
      deleted: fc.array(fc.nat(), { maxLength: 4 }),
    });
    await fc.assert(
      fc.asyncProperty(
        fc.array(times, { maxLength: 20 }),
        fc.integer({ min: 1, max: 6 }),
        fc.array(changes, { minLength: 12, maxLength: 12 }),
        async (startTimes, size, steps) => {
          const me = await test.signUp();
          let live = startTimes.map((time) => newRow(me, time));
          const staying = new Set(live.map(({ id }) => id));
          await insert(live);
          const order = () => [...live].sort(newestFirst).map(({ id }) => id);

          async function change(step: number): Promise<void> {
            const { created = [], deleted = [] } = steps[step] ?? {};
            const gone = deleted.flatMap((n) => live[n % Math.max(1, live.length)] ?? []);
            const come = created.map((time) => newRow(me, time));
            await remove(gone);
            await insert(come);
            for (const { id } of gone) staying.delete(id);
            live = [...live.filter((row) => !gone.includes(row)), ...come];
          }

          let step = 0;
          for (const direction of ["nextToken", "previousToken"] as const) {
            const first = await read(`pageSize=${size}`, me);
            const isForward = direction === "nextToken";
            let page = isForward ? first : ((await walk(first, "nextToken", me)).at(-1) ?? first);
            const seen = idsOf(page);
            while (true) {
              if (page.pageResults.length > 0) {
                const around = order();
                assert.equal("previousToken" in page, page.pageResults[0]?.id !== around[0]);
                assert.equal("nextToken" in page, page.pageResults.at(-1)?.id !== around.at(-1));
              }
              const token = page[direction];
              if (token === undefined) break;
              await change(step++);
              page = await read(`pagingToken=${token}`, me);
              if (isForward) seen.push(...idsOf(page));
              else seen.unshift(...idsOf(page));
            }
            assert.equal(new Set(seen).size, seen.length, "repeated");
            const stayed = seen.filter((id) => staying.has(id));
            const expected = order().filter((id) => staying.has(id));
            assert.deepEqual(stayed, expected, `skipped ${isForward ? "forward" : "back"}`);
          }
        },
      ),
      { numRuns: rounds(15) },
    );
  });
});

function newestFirst(a: CheckinRow, b: CheckinRow): number {
  return b.created_at - a.created_at || (a.id < b.id ? 1 : -1);
}

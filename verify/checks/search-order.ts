import { group } from "../check.ts";
import type { Answer } from "../client.ts";
import { further } from "../errors.ts";
import { expectDate, expectEqual, expectError, expectResult } from "../expect.ts";
import { checkInAll, idsOf, search, walk } from "../listing.ts";
import { otherUser, shared, signUp, uniqueName } from "../world.ts";

/** Check-ins that differ in the sort keys, unsorted; some share one text or both. */
const fields = [
  { comment: "cherry", description: "1 one" },
  { comment: "apple", description: "3 three" },
  { comment: "banana", description: "1 one" },
  { comment: "apple", description: "2 two" },
  { comment: "date", description: "5 five" },
  { comment: "apple", description: "2 two" },
  { comment: "blueberry", description: "4 four" },
];
const orders = ["created", "lastModified", "comment", "description", "tag"].flatMap((name) => [name, `-${name}`]);

/** A user's check-ins with a unique tag, some of them changed, and one with another tag. */
const rows = shared(async (world) => {
  const { token } = await signUp(world);
  const tag = uniqueName("tag");
  const all = fields.map((texts) => ({ ...texts, tag, readPermissions: "App" }));
  const ids = await checkInAll(world, token, [...all, { ...fields[0], tag: uniqueName("tag") }]);
  ids.pop();
  for (const id of [ids[3], ids[0]]) {
    expectResult(await world.call(`PATCH /checkins/${id}`, { token, body: { location: "3,4" } }));
  }
  return { token, tag, ids };
});

/** The sort key of each row: numbers, or lower-case ASCII texts, which every collation sorts alike. */
function keysOf(answer: Answer, name: string): (string | number)[] {
  const isTime = name === "created" || name === "lastModified";
  return expectResult(answer).pageResults.map((row: Record<string, string>) =>
    isTime ? expectDate(answer, name, row[name]) : row[name],
  );
}

function compare(a: string | number, b: string | number): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

/** Order of searches, and paging through them (spec/search#sort-order). */
export const searchOrder = group("search-order", (it) => {
  for (const sortOrder of orders)
    it(`spec/search#sort-order · GET /checkins: sortOrder ${sortOrder}, in one page and in pages of two`, async (world) => {
      const { token, tag, ids } = await rows(world);
      const name = sortOrder.replace("-", "");
      const whole = await search(world, token, { tag, sortOrder });
      const keys = keysOf(whole, name);
      const sorted = keys.toSorted(compare);
      expectEqual(whole, "rows", idsOf(whole).toSorted(), ids.toSorted());
      expectEqual(whole, name, keys, sortOrder === name ? sorted : sorted.toReversed());
      const first = await search(world, token, { tag, sortOrder, pageSize: "2" });
      const forward = await walk(world, token, first, "nextToken");
      expectEqual(first, "pages", forward.map(idsOf), inTwos(idsOf(whole)));
      const back = await walk(world, token, forward.at(-1) ?? first, "previousToken");
      expectEqual(first, "pages backwards", back.map(idsOf).toReversed(), inTwos(idsOf(whole)));
    });
  it("spec/search#sort-order · GET /checkins: the default order is -created", async (world) => {
    const { token, tag, ids } = await rows(world);
    const answer = await search(world, token, { tag });
    expectEqual(answer, "rows", idsOf(answer), ids.toReversed());
  });
  it("spec/search#offsets · A plain pagingToken combines with the filters and the order beside it", async (world) => {
    const { token, tag, ids } = await rows(world);
    const query = { tag, sortOrder: "created" };
    const answer = await search(world, token, { ...query, pagingToken: "2;3" });
    expectEqual(answer, "rows", idsOf(answer), ids.slice(3, 5));
    const { nextToken, previousToken } = expectResult(answer);
    const next = await search(world, token, { pagingToken: nextToken });
    expectEqual(next, "rows of nextToken", idsOf(next), ids.slice(5));
    const previous = await search(world, token, { pagingToken: previousToken });
    expectEqual(previous, "rows of previousToken", idsOf(previous), ids.slice(1, 3));
  });
  it("spec/search#page-tokens · A page token alone restores filters and order, whatever else is given", async (world) => {
    const { token, tag } = await rows(world);
    const query = { tag, comment: "apple", sortOrder: "description", created: "0-9999-12-31" };
    const whole = await search(world, token, query);
    expectEqual(whole, "rows", idsOf(whole).length, 3);
    const { nextToken: pagingToken } = expectResult(await search(world, token, { ...query, pageSize: "1" }));
    for (const beside of [{}, { tag: "none", comment: "date", sortOrder: "-created" }, { sortOrder: "nothing" }]) {
      const answer = await search(world, token, { pagingToken, ...beside });
      expectEqual(answer, "rows", idsOf(answer), idsOf(whole).slice(1, 2));
    }
  });
  it("hostile.md 14 · 400 ParameterIncorrectFormat for another user's token, even when all users may read the rows", async (world) => {
    const { token, tag } = await rows(world);
    const other = await otherUser(world);
    const { nextToken: pagingToken } = expectResult(await search(world, other.token, { tag, pageSize: "3" }));
    expectError(await search(world, token, { pagingToken }), further.incorrectFormat);
    expectResult(await search(world, other.token, { pagingToken }));
  });
  for (const sortOrder of [
    ...["nothing", "id", "location", "--created", "created,comment", "created desc", "distance", "-distance"],
  ])
    it(`spec/search#sort-order · 400 ParameterIncorrectFormat for the sortOrder ${sortOrder} without an area`, async (world) => {
      const { token } = await rows(world);
      expectError(await search(world, token, { sortOrder }), { ...further.incorrectFormat, message: /sortOrder/ });
    });
});

function inTwos(ids: readonly string[]): string[][] {
  return ids.flatMap((_, index) => (index % 2 === 0 ? [ids.slice(index, index + 2)] : []));
}

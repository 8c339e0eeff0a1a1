import { each, type Group, shared } from "../check.ts";
import type { Answer } from "../client.ts";
import { further } from "../errors.ts";
import { expectDate, expectEqual, expectError, expectResult } from "../expect.ts";
import { checkInAll, idsOf, search, walk } from "../listing.ts";
import { otherUser, signUp, uniqueName } from "../world.ts";

/** Check-ins that differ in what they can be sorted by, in no order; some are alike in one text or in both. */
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

/** A user's check-ins with a tag of their own, as they are after some were changed, and one with another tag. */
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

/** What a page is sorted by, row by row: numbers, or texts of small letters that every alphabet sorts alike. */
function keysOf(answer: Answer, name: string): (string | number)[] {
  const isTime = name === "created" || name === "lastModified";
  return expectResult(answer).pageResults.map((row: Record<string, string>) =>
    isTime ? expectDate(answer, name, row[name]) : row[name],
  );
}

function compare(a: string | number, b: string | number): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

/** Order of searches, and paging through them (surface.md section 3). */
export const searchOrder: Group = {
  name: "search-order",
  checks: {
    ...each(
      orders,
      (sortOrder) => `surface.md 3 · GET /checkins: sortOrder ${sortOrder}, in one page and in pages of two`,
      async (world, sortOrder) => {
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
      },
    ),
    "surface.md 3 · GET /checkins: -created is the order of a search that asks for none": async (world) => {
      const { token, tag, ids } = await rows(world);
      const answer = await search(world, token, { tag });
      expectEqual(answer, "rows", idsOf(answer), ids.toReversed());
    },
    "surface.md 3 · A plain pagingToken goes with the filters and the order beside it": async (world) => {
      const { token, tag, ids } = await rows(world);
      const query = { tag, sortOrder: "created" };
      const answer = await search(world, token, { ...query, pagingToken: "2;3" });
      expectEqual(answer, "rows", idsOf(answer), ids.slice(3, 5));
      const { nextToken, previousToken } = expectResult(answer);
      const next = await search(world, token, { pagingToken: nextToken });
      expectEqual(next, "rows of nextToken", idsOf(next), ids.slice(5));
      const previous = await search(world, token, { pagingToken: previousToken });
      expectEqual(previous, "rows of previousToken", idsOf(previous), ids.slice(1, 3));
    },
    "surface.md 3 · A given token alone brings back filters and order, whatever stands beside it": async (world) => {
      const { token, tag } = await rows(world);
      const query = { tag, comment: "apple", sortOrder: "description", created: "0-9999-12-31" };
      const whole = await search(world, token, query);
      expectEqual(whole, "rows", idsOf(whole).length, 3);
      const { nextToken: pagingToken } = expectResult(await search(world, token, { ...query, pageSize: "1" }));
      for (const beside of [{}, { tag: "none", comment: "date", sortOrder: "-created" }, { sortOrder: "nothing" }]) {
        const answer = await search(world, token, { pagingToken, ...beside });
        expectEqual(answer, "rows", idsOf(answer), idsOf(whole).slice(1, 2));
      }
    },
    "hostile.md 14 · 400 ParameterIncorrectFormat for another user's token, also where all may read the rows": async (
      world,
    ) => {
      const { token, tag } = await rows(world);
      const other = await otherUser(world);
      const { nextToken: pagingToken } = expectResult(await search(world, other.token, { tag, pageSize: "3" }));
      expectError(await search(world, token, { pagingToken }), further.incorrectFormat);
      expectResult(await search(world, other.token, { pagingToken }));
    },
    ...each(
      ["nothing", "id", "location", "--created", "created,comment", "created desc", "distance", "-distance"],
      (sortOrder) => `surface.md 3 · 400 ParameterIncorrectFormat for the sortOrder ${sortOrder} without an area`,
      async (world, sortOrder) => {
        const { token } = await rows(world);
        const answer = await search(world, token, { sortOrder });
        expectError(answer, { ...further.incorrectFormat, message: /sortOrder/ });
      },
    ),
  },
};

function inTwos(ids: readonly string[]): string[][] {
  return ids.flatMap((_, index) => (index % 2 === 0 ? [ids.slice(index, index + 2)] : []));
}

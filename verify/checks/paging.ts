import { group } from "../check.ts";
import { further } from "../errors.ts";
import { expectDate, expectEqual, expectError, expectResult, expectThat } from "../expect.ts";
import { checkIn, idsOf, makeRows, page, rows, rowsMade, walk } from "../listing.ts";
import { otherUser } from "../world.ts";

/** Listings page by page (spec/search#page-tokens). */
export const paging = group("paging", (it) => {
  it("spec/search#page-tokens · Paging forward returns every row once, newest first", async (world) => {
    const { token, ids } = await rows(world);
    const first = await page(world, token, { pageSize: "7" });
    const pages = await walk(world, token, first, "nextToken");
    const found = pages.map((each) => idsOf(each).length);
    expectEqual(first, "page sizes", found, [7, 7, 7, 4]);
    expectEqual(first, "rows", pages.flatMap(idsOf).toSorted(), ids.toSorted());
    const created = pages.flatMap((each) =>
      expectResult(each).pageResults.map((row: { created: string }) => row.created),
    );
    const times = created.map((text) => expectDate(first, "created", text));
    const sorted = times.toSorted((a, b) => b - a);
    expectEqual(first, "times, newest first", times, sorted);
  });
  it("spec/search#page-tokens · Paging backward returns the same pages in reverse", async (world) => {
    const { token } = await rows(world);
    const forward = await walk(world, token, await page(world, token, { pageSize: "7" }), "nextToken");
    const last = forward.at(-1) ?? (await page(world, token));
    const back = await walk(world, token, last, "previousToken");
    expectEqual(last, "rows read backwards", back.toReversed().flatMap(idsOf), forward.flatMap(idsOf));
  });
  it("spec/search#page-tokens · nextToken and previousToken are present only when that page exists, currentToken always", async (world) => {
    const { token } = await rows(world);
    const pages = await walk(world, token, await page(world, token, { pageSize: "10" }), "nextToken");
    const names = ["nextToken", "currentToken", "previousToken"];
    const present = pages.map((each) => names.filter((name) => typeof expectResult(each)[name] === "string").join());
    const [first] = pages;
    const middle = "nextToken,currentToken,previousToken";
    const expected = ["nextToken,currentToken", middle, "currentToken,previousToken"];
    if (first !== undefined) expectEqual(first, "tokens of each page", present, expected);
  });
  it("spec/search#page-tokens · A page that ends with the last row has no nextToken", async (world) => {
    const { token } = await rows(world);
    const answer = await page(world, token, { pageSize: String(rowsMade) });
    expectEqual(answer, "rows", idsOf(answer).length, rowsMade);
    expectThat(answer, !("nextToken" in expectResult(answer)), "no nextToken");
  });
  it("spec/search#page-tokens · currentToken returns the same page again", async (world) => {
    const { token } = await rows(world);
    const pages = await walk(world, token, await page(world, token, { pageSize: "10" }), "nextToken");
    for (const each of pages) {
      const again = await page(world, token, { pagingToken: expectResult(each).currentToken });
      expectEqual(again, "rows", idsOf(again), idsOf(each));
    }
  });
  it("spec/search#page-stability · Rows that are created during paging cause no row to be skipped or repeated", async (world) => {
    const { token, ids } = await makeRows(world, 12);
    const added: string[] = [];
    const first = await page(world, token, { pageSize: "3" });
    const between = async () => void added.push(await checkIn(world, token));
    const forward = await walk(world, token, first, "nextToken", between);
    const seen = forward.flatMap(idsOf);
    expectEqual(first, "rows from before, each once", seen.toSorted(), ids.toSorted());
    const back = await walk(world, token, forward.at(-1) ?? first, "previousToken");
    const all = back.flatMap(idsOf);
    expectEqual(first, "rows walking back, with the new ones", all.toSorted(), [...ids, ...added].toSorted());
  });
  it("spec/search#page-tokens · A page token alone restores filters and order, and other parameters beside it are ignored", async (world) => {
    const { token } = await rows(world);
    const first = await page(world, token, { pageSize: "5", created: "0-9999-12-31" });
    const { nextToken: pagingToken } = expectResult(first);
    const plain = await page(world, token, { pagingToken });
    const others = { pageSize: "1", created: "0-1", lastModified: "0-1", userID: "me" };
    const beside = await page(world, token, { pagingToken, ...others });
    expectEqual(beside, "rows", idsOf(beside), idsOf(plain));
    expectEqual(beside, "number of rows", idsOf(beside).length, 5);
  });
  it("spec/search#page-tokens · A page token keeps its filter", async (world) => {
    const { token } = await rows(world);
    const whole = await page(world, token);
    const dated: { id: string; at: number }[] = expectResult(whole).pageResults.map(
      (row: { id: string; created: string }) => ({ id: row.id, at: expectDate(whole, "created", row.created) }),
    );
    const until = dated[12]?.at ?? 0;
    const expected = dated.filter(({ at }) => at <= until).map(({ id }) => id);
    const first = await page(world, token, { pageSize: "4", created: `-${until}` });
    const pages = await walk(world, token, first, "nextToken");
    expectEqual(first, "filtered rows", pages.flatMap(idsOf), expected);
  });
  for (const [pagingToken, start, end] of [
    ["10;0", 0, 10],
    ["10;10", 10, 20],
    ["10;20", 20, 25],
    ["3;4", 4, 7],
    ["1000;0", 0, 25],
    ["10;25", 25, 25],
    ["10;1000000", 25, 25],
  ] as const)
    it(`spec/search#offsets · The plain pagingToken ${pagingToken}`, async (world) => {
      const { token } = await rows(world);
      const whole = idsOf(await page(world, token));
      const answer = await page(world, token, { pagingToken });
      expectEqual(answer, "rows", idsOf(answer), whole.slice(start, end));
      const result = expectResult(answer);
      expectThat(answer, typeof result.currentToken === "string", "a currentToken");
      expectEqual(answer, "nextToken present", "nextToken" in result, end < rowsMade);
      expectEqual(answer, "previousToken present", "previousToken" in result, start > 0);
    });
  it("spec/search#page-size · pageSize may be 1 to 1000", async (world) => {
    const { token } = await rows(world);
    for (const pageSize of ["1", "1000"]) {
      const answer = await page(world, token, { pageSize });
      expectEqual(answer, "rows", idsOf(answer).length, Math.min(Number(pageSize), rowsMade));
    }
  });
  it("spec/search#page-size · pageSize is 100 by default", async (world) => {
    const { token } = await makeRows(world, 101);
    const answer = await page(world, token);
    expectEqual(answer, "rows", idsOf(answer).length, 100);
    expectThat(answer, "nextToken" in expectResult(answer), "a nextToken");
  });
});

/** Page tokens and sizes that are refused (spec/search#page-tokens). */
export const pageTokens = group("page-tokens", (it) => {
  for (const pagingToken of ["0;0", "1001;0"])
    it(`spec/search#offsets · 400 ParameterOutOfRange for the pagingToken ${pagingToken}`, async (world) => {
      const { token } = await rows(world);
      expectError(await page(world, token, { pagingToken }), further.outOfRange);
    });
  for (const pagingToken of [
    ...["nothing", "10", "10;", ";10", "10;20;30", "a;b", "-1;0", "10;-1", "1.5;0", "x".repeat(2_000), "__proto__"],
  ])
    it(`spec/search#page-tokens · 400 ParameterIncorrectFormat for the pagingToken ${pagingToken.slice(0, 20)}`, async (world) => {
      const { token } = await rows(world);
      expectError(await page(world, token, { pagingToken }), further.incorrectFormat);
    });
  it("spec/search#page-tokens · 400 ParameterIncorrectFormat for a token with any one character changed", async (world) => {
    const { token } = await rows(world);
    const { nextToken } = expectResult(await page(world, token, { pageSize: "3" }));
    for (let index = 0; index < nextToken.length; index += 1 + Math.floor(nextToken.length / 20)) {
      const other = nextToken[index] === "A" ? "B" : "A";
      const pagingToken = nextToken.slice(0, index) + other + nextToken.slice(index + 1);
      expectError(await page(world, token, { pagingToken }), further.incorrectFormat);
    }
  });
  it("hostile.md 14 · 400 ParameterIncorrectFormat for a token of another user", async (world) => {
    const { token } = await rows(world);
    const { currentToken, nextToken } = expectResult(await page(world, token, { pageSize: "3" }));
    const other = await otherUser(world);
    for (const pagingToken of [currentToken, nextToken]) {
      expectError(await page(world, other.token, { pagingToken }), further.incorrectFormat);
    }
  });
  for (const pageSize of ["0", "-1", "1001", "1000000000"])
    it(`spec/search#page-size · 400 ParameterOutOfRange for a pageSize of ${pageSize}`, async (world) => {
      const { token } = await rows(world);
      expectError(await page(world, token, { pageSize }), further.outOfRange);
    });
  for (const pageSize of ["many", "ten", "1,5", "0x10", "[]", "NaN"])
    it(`spec/search#page-size · 400 ParameterIncorrectFormat for a pageSize of ${pageSize}`, async (world) => {
      const { token } = await rows(world);
      expectError(await page(world, token, { pageSize }), { ...further.incorrectFormat, message: /pageSize/ });
    });
  it("spec/search#page-tokens · Other parameters beside a page token are ignored, even invalid ones", async (world) => {
    const { token } = await rows(world);
    const { nextToken: pagingToken } = expectResult(await page(world, token, { pageSize: "3" }));
    const plain = idsOf(await page(world, token, { pagingToken }));
    for (const wrong of [{ pageSize: "0" }, { pageSize: "many" }, { created: "yesterday" }]) {
      const answer = await page(world, token, { pagingToken, ...wrong });
      expectEqual(answer, "rows", idsOf(answer), plain);
    }
  });
});

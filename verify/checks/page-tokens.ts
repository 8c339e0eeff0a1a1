import { group } from "../check.ts";
import { further } from "../errors.ts";
import { expectEqual, expectError, expectResult } from "../expect.ts";
import { idsOf, page, rows } from "../listing.ts";
import { otherUser } from "../world.ts";

/** Page tokens and sizes that are refused (spec/search#page-tokens). */
export const pageTokens = group("page-tokens", (it) => {
  for (const pagingToken of ["0;0", "1001;0"])
    it(`spec/search#offsets · 400 ParameterOutOfRange for the pagingToken ${pagingToken}`, async (world) => {
      const { token } = await rows(world);
      expectError(await page(world, token, { pagingToken }), further.outOfRange);
    });
  for (const pagingToken of [
    "nothing",
    "10",
    "10;",
    ";10",
    "10;20;30",
    "a;b",
    "-1;0",
    "10;-1",
    "1.5;0",
    "x".repeat(2_000),
    "__proto__",
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

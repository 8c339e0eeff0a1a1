import { group } from "../check.ts";
import type { Answer } from "../client.ts";
import { further } from "../errors.ts";
import { expectEqual, expectError, expectResult } from "../expect.ts";
import { checkIn, checkInAll, idsOf, makeCheckin, search } from "../listing.ts";
import { otherUser, shared, sharedUser, signUp, uniqueName } from "../world.ts";

const fields = [
  { comment: "apple", description: "1 one" },
  { comment: "apple", description: "2 two" },
  { comment: "banana", description: "1 one" },
  { comment: "x%y_z" },
  { comment: "xAyBz" },
];
/** Check-ins of one user with a unique tag, in order of creation. */
const rows = shared(async (world) => {
  const { token, id: userID } = await signUp(world);
  const tag = uniqueName("tag");
  const all: Answer["body"][] = [];
  for (const texts of fields) all.push(await makeCheckin(world, token, { ...texts, tag }));
  return { token, userID, tag, all };
});

/** Searching check-ins: filters, order, and tokens that keep both (spec/search#searches). */
export const searchGroup = group("search", (it) => {
  it("spec/search#search-scope · GET /checkins: the caller's check-ins and those that others share, but no private ones", async (world) => {
    const [owner, other] = [await sharedUser(world), await otherUser(world)];
    const tag = uniqueName("tag");
    const hers = await checkInAll(world, owner.token, [{ tag }, { tag, readPermissions: "App" }]);
    const his = await checkInAll(world, other.token, [{ tag }, { tag, readPermissions: "App" }]);
    const found = await search(world, owner.token, { tag });
    expectEqual(found, "check-ins, newest first", idsOf(found), [his[1], hers[1], hers[0]]);
    for (const userID of ["me", "ME", owner.id]) {
      const own = await search(world, owner.token, { tag, userID });
      expectEqual(own, `check-ins of ${userID}`, idsOf(own), [hers[1], hers[0]]);
    }
    const others = await search(world, owner.token, { tag, userID: other.id });
    expectEqual(others, "check-ins of the other", idsOf(others), [his[1]]);
  });
  it("spec/search#search-scope · GET /checkins: a filter on an unknown user gives an empty page", async (world) => {
    const { token, userID } = await rows(world);
    const last = userID.endsWith("q") ? "r" : "q";
    const answer = await search(world, token, { userID: userID.slice(0, -1) + last });
    const { currentToken, ...page } = expectResult(answer);
    expectEqual(answer, "page", page, { pageResults: [] });
    expectEqual(answer, "type of currentToken", typeof currentToken, "string");
  });
  it("spec/transport#ids · Ids: GET /checkins with an invalid userID, or one of another kind", async (world) => {
    const { token, all, userID } = await rows(world);
    for (const wrong of ["nothing", `${userID}x`, " "]) {
      expectError(await search(world, token, { userID: wrong }), further.incorrectFormat);
    }
    expectError(await search(world, token, { userID: all[0].id }), further.userIdWrongKind);
  });
  for (const query of [
    { comment: "apple" },
    { description: "1 one" },
    { comment: "apple", description: "2 two" },
    { comment: "apple", description: "1 one" },
    { comment: "Apple" },
    { comment: "appl" },
    { comment: "apple " },
    { comment: "a%" },
    { comment: "x%y_z" },
    { comment: "" },
  ])
    it(`spec/search#filters · GET /checkins: byte-exact comparison: ${JSON.stringify(query)}`, async (world) => {
      const { token, tag, all } = await rows(world);
      const given = Object.entries(query).filter(([, text]) => text !== ""); // an empty filter counts as absent
      const expected = all.filter((row) => given.every(([name, text]) => row[name] === text));
      const found = await search(world, token, { tag, ...query, sortOrder: "created" });
      expectEqual(found, "check-ins", expectResult(found).pageResults, expected);
    });
  it("spec/search#filters · GET /checkins: distinguishes texts that differ in the last of 4,000 characters", async (world) => {
    const { token } = await sharedUser(world);
    const tag = uniqueName("tag");
    const [first = "", second = ""] = ["x", "y"].map((last) => "\u{1f642}".repeat(99) + "z".repeat(3_900) + last);
    const ids = await checkInAll(world, token, [
      { tag, comment: first },
      { tag, comment: second },
    ]);
    for (const [index, comment] of [first, second].entries()) {
      const found = await search(world, token, { tag, comment });
      expectEqual(found, "check-ins", idsOf(found), [ids[index]]);
    }
  });
  it("spec/search#filters · GET /checkins: finds a changed check-in by its new values", async (world) => {
    const { token } = await sharedUser(world);
    const [before, after] = [uniqueName("tag"), uniqueName("tag")];
    const id = await checkIn(world, token, { tag: before, comment: "before" });
    expectResult(await world.call(`PATCH /checkins/${id}`, { token, body: { tag: after, comment: "after" } }));
    for (const [tag, comment, expected] of [
      [before, "before", []],
      [before, "after", []],
      [after, "before", []],
      [after, "after", [id]],
    ] as const) {
      const found = await search(world, token, { tag, comment });
      expectEqual(found, "check-ins", idsOf(found), expected);
    }
  });
  it("spec/search#filters · GET /checkins: lastModified filters by the last change, created does not", async (world) => {
    const { token } = await sharedUser(world);
    const { id, tag, created } = await makeCheckin(world, token, { tag: uniqueName("tag") });
    await new Promise((resolve) => setTimeout(resolve, 2));
    const changed = await world.call(`PATCH /checkins/${id}`, { token, body: { comment: "later" } });
    const { lastModified } = expectResult(changed);
    for (const [name, range, isFound] of [
      ["lastModified", `${lastModified}-${lastModified}`, true],
      ["lastModified", `-${created}`, lastModified === created], // with a coarse clock
      ["created", `${lastModified}-`, lastModified === created],
      ["created", `${created}-${created}`, true],
    ] as const) {
      const found = await search(world, token, { tag, [name]: range });
      expectEqual(found, `check-ins ${name} ${range}`, idsOf(found), isFound ? [id] : []);
    }
  });
});

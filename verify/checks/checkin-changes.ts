import { group } from "../check.ts";
import type { Answer } from "../client.ts";
import { further } from "../errors.ts";
import { expectDate, expectEqual, expectError, expectExactly, expectResult, expectThat } from "../expect.ts";
import { checkIn, idsOf, makeCheckin, makeRows, page, walk } from "../listing.ts";
import { otherUser, sharedUser, signUp, type World } from "../world.ts";

const full = {
  location: "48.2082,16.3738",
  comment: "Hello",
  description: "A place",
  tag: "verify",
  readPermissions: "App",
  writePermissions: "User",
};
const changes: Readonly<Record<string, unknown>> = {
  location: { lat: -33.8688, lng: 151.2093 },
  comment: "Good bye",
  description: "Another place",
  tag: "verify 2",
  readPermissions: "User",
};
const refused = [
  ["location", "nowhere", "incorrectFormat"],
  ["location", "90.1,0", "outOfRange"],
  ["comment", { a: 1 }, "incorrectFormat"],
  ["comment", "x".repeat(4_001), "outOfRange"],
  ["description", ["x"], "incorrectFormat"],
  ["description", "x".repeat(4_001), "outOfRange"],
  ["tag", {}, "incorrectFormat"],
  ["readPermissions", "Everybody", "incorrectFormat"],
  ["writePermissions", 1, "incorrectFormat"],
] as const;

async function change(world: World, token: string, id: string, body?: unknown) {
  return world.call(`PATCH /checkins/${id}`, { token, body });
}

async function read(world: World, token: string, id: string) {
  return world.call(`GET /checkins/${id}`, { token });
}

async function remove(world: World, token: string, id: string) {
  return world.call(`DELETE /checkins/${id}`, { token });
}

/** Changing and deleting check-ins (spec/checkins#change-or-delete-a-check-in). Permissions: `checkin-permissions`. */
export const checkinChanges = group("check-in-changes", (it) => {
  it("spec/checkins#create-a-check-in · POST /checkins: returns tag and permissions; App and User are accepted in any case", async (world) => {
    const { token } = await sharedUser(world);
    const sent = { ...full, readPermissions: "APP", writePermissions: "user" };
    const { tag, readPermissions, writePermissions, id } = await makeCheckin(world, token, sent);
    const answer = await read(world, token, id);
    const shown = { tag, readPermissions, writePermissions };
    expectEqual(answer, "fields", shown, { tag: "verify", readPermissions: "App", writePermissions: "User" });
  });
  for (const [name, value] of Object.entries(changes))
    it(`spec/search#create-change-delete · PATCH /checkins/{checkinId}: 200 with the new ${name}; omitted fields keep their values`, async (world) => {
      const { token } = await sharedUser(world);
      const { lastModified: madeAt, ...made } = await makeCheckin(world, token, full);
      const answer = await change(world, token, made.id, { [name]: value });
      const { lastModified, ...changed } = expectResult(answer);
      expectEqual(answer, "result", changed, { ...made, [name]: value });
      const [from, to] = [madeAt, lastModified].map((time) => expectDate(answer, "lastModified", time));
      expectThat(answer, Number(to) >= Number(from), "a lastModified that is not before the creation");
      expectExactly(await read(world, token, made.id), { ...changed, lastModified });
    });
  it("spec/transport#absent-values · PATCH /checkins/{checkinId}: the empty text clears a text, null changes nothing", async (world) => {
    const { token } = await sharedUser(world);
    const made = await makeCheckin(world, token, full);
    const texts = (value: unknown) => ({ comment: value, description: value, tag: value });
    const kept = await change(world, token, made.id, { ...texts(null), location: null, readPermissions: null });
    expectEqual(kept, "result", { ...expectResult(kept), lastModified: "" }, { ...made, lastModified: "" });
    const cleared = await change(world, token, made.id, texts(""));
    const left = Object.keys(expectResult(cleared)).filter((name) => name in texts(""));
    expectEqual(cleared, "texts that are left", left, []);
  });
  it("spec/search#create-change-delete · PATCH /checkins/{checkinId}: without a body, 200 with the check-in", async (world) => {
    const { token } = await sharedUser(world);
    const { lastModified: _, ...made } = await makeCheckin(world, token, full);
    for (const body of [undefined, "", {}]) {
      const answer = await change(world, token, made.id, body);
      const { lastModified: __, ...changed } = expectResult(answer);
      expectEqual(answer, "result", changed, made);
    }
  });
  it("hostile.md 9 · PATCH /checkins/{checkinId}: sending the whole object back changes nothing, nor do fields that the service sets", async (world) => {
    const { token } = await sharedUser(world);
    const { lastModified: _, ...made } = await makeCheckin(world, token, full);
    const { id: otherId } = await otherUser(world);
    for (const set of [{}, { id: {}, userID: [], created: 0 }, { userID: otherId, lastModified: "/Date(0)/" }]) {
      const answer = await change(world, token, made.id, { ...made, ...set });
      const { lastModified, ...changed } = expectResult(answer);
      expectEqual(answer, "result", changed, made);
      expectThat(answer, expectDate(answer, "lastModified", lastModified) > 0, "the service's own lastModified");
    }
  });
  it("spec/search#create-change-delete · PATCH /checkins/{checkinId}: concurrent changes of different fields lose nothing", async (world) => {
    const { token } = await sharedUser(world);
    const { lastModified: _, ...made } = await makeCheckin(world, token, full);
    const sent = Object.entries(changes).map(([name, value]) => change(world, token, made.id, { [name]: value }));
    for (const answer of await Promise.all(sent)) expectResult(answer);
    const answer = await read(world, token, made.id);
    const { lastModified: __, ...changed } = expectResult(answer);
    expectEqual(answer, "result", changed, { ...made, ...changes });
  });
  for (const [name, value, row] of refused)
    it(`spec/checkins#check-in-fields · A check-in with ${JSON.stringify(value).slice(0, 20)} as ${name}: 400 ${further[row].error}`, async (world) => {
      const { token } = await sharedUser(world);
      const expected = { ...further[row], message: new RegExp(name) };
      const { id, ...made } = await makeCheckin(world, token, full);
      expectError(await change(world, token, id, { comment: "lost", [name]: value }), expected);
      expectError(await world.call("POST /checkins", { token, body: { ...full, [name]: value } }), expected);
      expectExactly(await read(world, token, id), { id, ...made });
    });
  it("spec/search#create-change-delete · DELETE /checkins/{checkinId}: 200 and true; then the check-in no longer exists", async (world) => {
    const { token } = await signUp(world);
    const [id, kept] = [await checkIn(world, token), await checkIn(world, token)];
    expectExactly(await remove(world, token, id), true);
    expectError(await read(world, token, id), further.itemDoesNotExist);
    expectError(await remove(world, token, id), further.itemDoesNotExist);
    expectError(await change(world, token, id, { comment: "x" }), further.itemDoesNotExist);
    const listed = await page(world, token);
    expectEqual(listed, "check-ins", idsOf(listed), [kept]);
  });
  it("spec/search#create-change-delete · Of ten concurrent deletions one returns true, the others find nothing", async (world) => {
    const { token } = await sharedUser(world);
    const id = await checkIn(world, token);
    const answers = await Promise.all(Array.from({ length: 10 }, () => remove(world, token, id)));
    const [first, ...others] = answers.toSorted((a, b) => a.status - b.status);
    if (first !== undefined) expectExactly(first, true);
    for (const answer of others) expectError(answer, further.itemDoesNotExist);
  });
  it("spec/search#page-stability · Rows that are deleted during paging cause no other row to be skipped or repeated", async (world) => {
    const { token, ids } = await makeRows(world, 9);
    const first = await page(world, token, { pageSize: "2" });
    const removeLast = (last: Answer) => remove(world, token, idsOf(last).at(-1) ?? "");
    const pages = await walk(world, token, first, "nextToken", removeLast);
    expectEqual(first, "rows", pages.flatMap(idsOf).toSorted(), ids.toSorted());
  });
  for (const verb of ["PATCH", "DELETE"])
    it(`spec/transport#ids · Ids: ${verb} /checkins/{checkinId} with an invalid id, or one of another kind`, async (world) => {
      const { token, id } = await sharedUser(world);
      const made = await checkIn(world, token);
      for (const wrong of ["nothing", "me", `${made}x`, made.slice(0, -1), "%20"]) {
        expectError(await world.call(`${verb} /checkins/${wrong}`, { token }), further.incorrectFormat);
      }
      expectError(await world.call(`${verb} /checkins/${id}`, { token }), further.checkinIdWrongKind);
      expectResult(await read(world, token, made));
    });
});

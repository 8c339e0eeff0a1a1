import { group } from "../check.ts";
import { further } from "../errors.ts";
import { expectEqual, expectError, expectResult, expectThat } from "../expect.ts";
import { otherUser, signUp, type TestUser, uniqueName, type World } from "../world.ts";

/** The types and ids of the events behind a token. */
async function eventsAfter(world: World, { token }: TestUser, after: string, types = "checkin.*"): Promise<string[]> {
  const answer = await world.call(`GET /events?pageSize=1000&types=${types}&after=${after}`, { token });
  const { pageResults } = expectResult(answer);
  return pageResults.map(({ type, objectID }: { type: string; objectID: string }) => `${type} ${objectID}`);
}

async function tokenOfNow(world: World, { token }: TestUser): Promise<string> {
  const answer = await world.call("GET /events", { token });
  const { pageResults, currentToken } = expectResult(answer);
  expectEqual(answer, "events", pageResults.length, 0);
  return currentToken;
}

/** Events (spec/events). */
export const events = group("events", (it) => {
  it("spec/events#read-events · GET /events: a new check-in is in the next page, and a private one in that of its owner alone", async (world) => {
    const [owner, other] = [await signUp(world), await otherUser(world)];
    const [own, others] = [await tokenOfNow(world, owner), await tokenOfNow(world, other)];
    const body = { location: "48.2,16.3" };
    const answer = await world.call("POST /checkins", { token: owner.token, body });
    const { id } = expectResult(answer, 201);
    expectEqual(answer, "events", (await eventsAfter(world, owner, own)).join(), `checkin.created ${id}`);
    const told = await eventsAfter(world, other, others);
    expectEqual(answer, "events of others", told.includes(`checkin.created ${id}`), false);
  });
  it("spec/events#types · GET /events: its user alone learns of an identity that is added and removed", async (world) => {
    const [owner, other] = [await signUp(world), await otherUser(world)];
    const [own, others] = [await tokenOfNow(world, owner), await tokenOfNow(world, other)];
    const path = "/users/me/identities/crm";
    const body = { identityId: uniqueName("crm") };
    const answer = await world.call(`POST ${path}`, { token: owner.token, body });
    expectResult(answer);
    expectResult(await world.call(`DELETE ${path}`, { token: owner.token }));
    const told = await eventsAfter(world, owner, own, "identity.*");
    expectEqual(answer, "events", told.join(), `identity.added ${owner.id},identity.removed ${owner.id}`);
    const toOthers = await eventsAfter(world, other, others, "identity.*");
    expectEqual(answer, "events of others", toOthers.join(), "");
  });
  for (const types of [
    "user.created",
    "user.disabled",
    "application.*",
    "crash_group.opened",
    "webhook.*",
    "revocation.*",
  ])
    it(`spec/events#operators-view · GET /events: clients may not ask for ${types}`, async (world) => {
      expectError(await world.call(`GET /events?types=${types}`, { by: otherUser }), further.incorrectFormat);
    });
  it("spec/events#wait · GET /events: a call that waits is answered by the next event", async (world) => {
    const owner = await signUp(world);
    const after = await tokenOfNow(world, owner);
    const path = `GET /events?waitSeconds=15&types=checkin.*&after=${after}`;
    const waiting = world.call(path, { token: owner.token });
    const created = await world.call("POST /checkins", { token: owner.token, body: { location: "1,2" } });
    const answer = await waiting;
    const ids = expectResult(answer).pageResults.map(({ objectID }: { objectID: string }) => objectID);
    expectEqual(answer, "events", ids, [expectResult(created, 201).id]);
  });
  it("spec/events#read-events · GET /events: nextToken leads through all pages, in order", async (world) => {
    const owner = await signUp(world);
    let after = await tokenOfNow(world, owner);
    const made: string[] = [];
    for (let count = 0; count < 3; count += 1) {
      const answer = await world.call("POST /checkins", { token: owner.token, body: { location: "1,2" } });
      made.push(expectResult(answer, 201).id);
    }
    const seen: string[] = [];
    for (let next: string | undefined = after; next !== undefined; ) {
      const path = `GET /events?pageSize=1&types=checkin.*&userID=me&after=${next}`;
      const answer = await world.call(path, { token: owner.token });
      const { pageResults, nextToken, currentToken } = expectResult(answer);
      expectThat(answer, pageResults.length <= 1, "one event at most");
      expectThat(answer, nextToken === undefined || nextToken === currentToken, "one token to go on from");
      seen.push(...pageResults.map(({ objectID }: { objectID: string }) => objectID));
      after = currentToken;
      next = nextToken;
    }
    const last = await world.call(`GET /events?after=${after}&userID=me`, { token: owner.token });
    expectEqual(last, "further events", expectResult(last).pageResults, []);
    expectEqual(last, "events of the pages", seen, made);
  });
  it("spec/events#views · GET /events: for others a check-in that becomes readable is created, and deleted when it is not", async (world) => {
    const [owner, other] = [await signUp(world), await otherUser(world)];
    const after = await tokenOfNow(world, other);
    const answer = await world.call("POST /checkins", { token: owner.token, body: { location: "1,2" } });
    const { id } = expectResult(answer, 201);
    const steps = [
      ["PATCH", { comment: "still private" }],
      ["PATCH", { readPermissions: "App" }],
      ["PATCH", { readPermissions: "User" }],
      ["DELETE", undefined],
    ] as const;
    for (const [method, body] of steps) {
      expectResult(await world.call(`${method} /checkins/${id}`, { token: owner.token, body }));
    }
    const path = `GET /events?userID=${owner.id}&after=${after}`;
    const read = await world.call(path, { token: other.token });
    const told = expectResult(read).pageResults;
    const types = told.map(({ type }: { type: string }) => type);
    // The object is private again when the event is read, so its creation is left out.
    expectEqual(read, "types", types, ["checkin.deleted"]);
    const { id: _, created: __, ...rest } = told[0];
    expectEqual(read, "the deletion", rest, { type: "checkin.deleted", objectID: id });
  });
  it("spec/events#form · GET /events: a change names its fields, and has the object of now", async (world) => {
    const owner = await signUp(world);
    const body = { location: "1,2", comment: "old" };
    const { id } = expectResult(await world.call("POST /checkins", { token: owner.token, body }), 201);
    const after = await tokenOfNow(world, owner);
    for (const comment of ["new", "newest"]) {
      expectResult(await world.call(`PATCH /checkins/${id}`, { token: owner.token, body: { comment } }));
    }
    const answer = await world.call(`GET /events?after=${after}`, { token: owner.token });
    const told = expectResult(answer).pageResults;
    const last = told.at(-1);
    expectEqual(answer, "type and fields", [last.type, last.changed], ["checkin.changed", ["comment"]]);
    const object = await world.call(`GET /checkins/${id}`, { token: owner.token });
    expectEqual(answer, "object", last.object, expectResult(object));
  });
  it("spec/events#filters · GET /events: 21 types are ParameterIncorrectFormat", async (world) => {
    const types = Array.from({ length: 21 }, () => "*").join();
    expectError(await world.call(`GET /events?types=${types}`, { by: otherUser }), further.incorrectFormat);
  });
  it("spec/events#cursors · GET /events: an altered token is ParameterIncorrectFormat", async (world) => {
    expectError(await world.call("GET /events?after=nothing", { by: otherUser }), further.incorrectFormat);
  });
});

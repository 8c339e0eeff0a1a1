import { each, type Group } from "../check.ts";
import { further } from "../errors.ts";
import { expectEqual, expectError, expectResult } from "../expect.ts";
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
export const events: Group = {
  name: "events",
  checks: {
    "spec/events#read-events · GET /events: a new check-in is in the next page, and a private one in that of its owner alone":
      async (world) => {
        const [owner, other] = [await signUp(world), await otherUser(world)];
        const [own, others] = [await tokenOfNow(world, owner), await tokenOfNow(world, other)];
        const body = { location: "48.2,16.3" };
        const answer = await world.call("POST /checkins", { token: owner.token, body });
        const { id } = expectResult(answer, 201);
        expectEqual(answer, "events", (await eventsAfter(world, owner, own)).join(), `checkin.created ${id}`);
        const told = await eventsAfter(world, other, others);
        expectEqual(answer, "events of others", told.includes(`checkin.created ${id}`), false);
      },
    "spec/events#types · GET /events: its user alone learns of an identity that is added and removed": async (
      world,
    ) => {
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
    },
    ...each(
      ["user.created", "user.disabled", "application.*", "crash_group.opened", "webhook.*", "revocation.*"],
      (types) => `spec/events#operators-view · GET /events: clients may not ask for ${types}`,
      async (world, types) => {
        const { token } = await otherUser(world);
        expectError(await world.call(`GET /events?types=${types}`, { token }), further.incorrectFormat);
      },
    ),
    "spec/events#cursors · GET /events: an altered token is ParameterIncorrectFormat": async (world) => {
      const { token } = await otherUser(world);
      expectError(await world.call("GET /events?after=nothing", { token }), further.incorrectFormat);
    },
  },
};

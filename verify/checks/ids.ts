import { each, type Group } from "../check.ts";
import { further } from "../errors.ts";
import { expectError, expectSameAnswer } from "../expect.ts";
import { otherUser, sharedCheckin, sharedUser } from "../world.ts";

const malformed: readonly [what: string, make: (id: string) => string][] = [
  ["a word", () => "nothing"],
  ["a number", () => "17"],
  ["null", () => "null"],
  ["me", () => "me"],
  ["__proto__", () => "__proto__"],
  ["a blank", () => "%20"],
  ["an id and a letter", (id) => `${id}x`],
  ["an id and a blank", (id) => `${id}%20`],
  ["an id and a line break", (id) => `${id}%0A`],
  ["a shortened id", (id) => id.slice(0, -1)],
  ["half an id", (id) => id.slice(0, id.length / 2)],
  ["two ids", (id) => `${id},${id}`],
  ["a quote", (id) => `${id}'`],
  ["non-ASCII digits", (id) => encodeURIComponent(`${id.slice(0, -1)}\u0661`)],
];

/** Changes the last character: an unknown id of the same form. */
function changeLast(id: string): string {
  const last = id.at(-1) ?? "";
  const [from = "a", next = "b"] = /\d/.test(last) ? ["7", "8"] : /[A-Z]/.test(last) ? ["Q", "R"] : ["q", "r"];
  return id.slice(0, -1) + (last === from ? next : from);
}

/** Ids in paths (spec/transport#ids). */
export const ids: Group = {
  name: "ids",
  checks: {
    ...each(
      malformed,
      ([what]) => `spec/transport#ids · Ids: 400 ParameterIncorrectFormat for GET /checkins/{checkinId} with ${what}`,
      async (world, [, make]) => {
        const { token } = await sharedUser(world);
        const { id } = await sharedCheckin(world);
        expectError(await world.call(`GET /checkins/${make(id)}`, { token }), further.incorrectFormat);
      },
    ),
    'spec/transport#ids · Ids: 400 ParameterOutOfRange "Incorrect id type, expected Checkin." for a user\'s id': async (
      world,
    ) => {
      const { token, id } = await sharedUser(world);
      expectError(await world.call(`GET /checkins/${id}`, { token }), further.checkinIdWrongKind);
    },
    'spec/transport#ids · Ids: 400 ParameterOutOfRange "Incorrect id type, expected Checkin." for an application\'s id':
      async (world) => {
        const { token } = await sharedUser(world);
        const answer = await world.call(`GET /checkins/${world.application.appid}`, { token });
        expectError(answer, further.checkinIdWrongKind);
      },
    "spec/transport#missing-objects · Ids: 404 ItemDoesNotExist for a well-formed id that does not exist": async (
      world,
    ) => {
      const { token } = await sharedUser(world);
      const { id } = await sharedCheckin(world);
      expectError(await world.call(`GET /checkins/${changeLast(id)}`, { token }), further.itemDoesNotExist);
    },
    "spec/transport#missing-objects · Ids: another user's check-in and an unknown one give byte-identical answers":
      async (world) => {
        const { token } = await otherUser(world);
        const { id } = await sharedCheckin(world);
        const hidden = await world.call(`GET /checkins/${id}`, { token });
        expectError(hidden, further.itemDoesNotExist);
        expectSameAnswer(hidden, await world.call(`GET /checkins/${changeLast(id)}`, { token }));
      },
  },
};

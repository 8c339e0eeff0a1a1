import { group } from "../check.ts";
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
export const ids = group("ids", (it) => {
  for (const [what, make] of malformed)
    it(`spec/transport#ids · Ids: 400 ParameterIncorrectFormat for GET /checkins/{checkinId} with ${what}`, async (world) => {
      const { id } = await sharedCheckin(world);
      expectError(await world.call(`GET /checkins/${make(id)}`, { by: sharedUser }), further.incorrectFormat);
    });
  it('spec/transport#ids · Ids: 400 ParameterOutOfRange "Incorrect id type, expected Checkin." for a user\'s id', async (world) => {
    const { token, id } = await sharedUser(world);
    expectError(await world.call(`GET /checkins/${id}`, { token }), further.checkinIdWrongKind);
  });
  it('spec/transport#ids · Ids: 400 ParameterOutOfRange "Incorrect id type, expected Checkin." for an application\'s id', async (world) => {
    const answer = await world.call(`GET /checkins/${world.application.appid}`, { by: sharedUser });
    expectError(answer, further.checkinIdWrongKind);
  });
  it("spec/transport#missing-objects · Ids: 404 ItemDoesNotExist for a well-formed id that does not exist", async (world) => {
    const { id } = await sharedCheckin(world);
    expectError(await world.call(`GET /checkins/${changeLast(id)}`, { by: sharedUser }), further.itemDoesNotExist);
  });
  it("spec/transport#missing-objects · Ids: another user's check-in and an unknown one give byte-identical answers", async (world) => {
    const { id } = await sharedCheckin(world);
    const hidden = await world.call(`GET /checkins/${id}`, { by: otherUser });
    expectError(hidden, further.itemDoesNotExist);
    expectSameAnswer(hidden, await world.call(`GET /checkins/${changeLast(id)}`, { by: otherUser }));
  });
});

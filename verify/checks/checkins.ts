import { group } from "../check.ts";
import { further } from "../errors.ts";
import { expectDate, expectEqual, expectError, expectExactly, expectResult, expectThat } from "../expect.ts";
import { otherUser, sharedCheckin, sharedUser, signUp, type World } from "../world.ts";

const hourMs = 3_600_000;
const location = "48.2082,16.3738";

async function checkIn(world: World, fields: Readonly<Record<string, unknown>>) {
  return world.call("POST /checkins", { by: sharedUser, body: { location, ...fields } });
}

/** Texts that must be returned unchanged (hostile.md 19, 20). */
const texts: Readonly<Record<string, string>> = {
  "4-byte Unicode": "\u{1f642}\u{20000}\u{1f469}\u200d\u{1f467}",
  "right-to-left marks": "\u202eabc\u200f\u2067\u05d0\u2069",
  "256 combining marks": `e${"\u0301".repeat(256)}`,
  "a decomposed letter": "e\u0301",
  "a composed letter": "\u00e9",
  "line breaks and tabs": "a\r\nb\tc\u2028d",
  "SQL and LIKE wildcards": "%_*?'\";-- DROP TABLE checkins",
  "HTML and a template": "<script>alert(1)</script>{{x}}",
  "the word null": "null",
  "a date": "/Date(0)/",
  "surrounding spaces": "  x  ",
  "a byte order mark and a non-character": "\ufeffx\uffff",
  "control characters": "\u0001\u001f\u007f",
  "4,000 letters": "x".repeat(4_000),
  "4,000 characters of four bytes": "\u{1f642}".repeat(4_000),
};

/** Check-ins (spec/checkins). */
export const checkins = group("check-ins", (it) => {
  it("spec/checkins#create-a-check-in · POST /checkins: 201 with the Check-in", async (world) => {
    const user = await sharedUser(world);
    const answer = await checkIn(world, { comment: "Hello", description: "A place" });
    const { id, created, lastModified, ...others } = expectResult(answer, 201);
    expectThat(answer, typeof id === "string" && id !== "", "an id");
    expectDate(answer, "created", created);
    expectDate(answer, "lastModified", lastModified);
    const { userID, comment, description, location } = others;
    const expected = { userID: user.id, comment: "Hello", description: "A place" };
    expectEqual(answer, "result", { userID, comment, description }, expected);
    expectEqual(answer, "result.location", location, { lat: 48.2082, lng: 16.3738 });
  });
  it("spec/transport#dates · Timestamp format: created and lastModified are the current time, in milliseconds", async (world) => {
    const answer = await checkIn(world, {});
    const { created, lastModified } = expectResult(answer, 201);
    const now = Date.parse(String(answer.headers.date));
    for (const time of [created, lastModified]) {
      const isNow = Math.abs(expectDate(answer, "times", time) - now) < hourMs;
      expectThat(answer, isNow, `the time of the answer, ${answer.headers.date}`);
    }
  });
  it("spec/checkins#create-a-check-in · POST /checkins: comment and description are optional, and absent when not set", async (world) => {
    const answer = await checkIn(world, {});
    const result = expectResult(answer, 201);
    expectThat(answer, !("comment" in result) && !("description" in result), "neither comment nor description");
  });
  it("spec/checkins#read-a-check-in · GET /checkins/{checkinId}: 200 with the check-in as POST returned it", async (world) => {
    const checkin = await sharedCheckin(world);
    expectExactly(await world.call(`GET /checkins/${checkin.id}`, { by: sharedUser }), checkin);
  });
  it("spec/transport#missing-objects · GET /checkins/{checkinId}: 404 ItemDoesNotExist for another user's check-in", async (world) => {
    const { id } = await sharedCheckin(world);
    expectError(await world.call(`GET /checkins/${id}`, { by: otherUser }), further.itemDoesNotExist);
  });
  it("spec/checkins#search-check-ins · GET /checkins: 200 with pageResults and currentToken", async (world) => {
    const { token } = await signUp(world);
    const created = await world.call("POST /checkins", { token, body: { location, comment: "one" } });
    const answer = await world.call("GET /checkins", { token, query: { userID: "me" } });
    const { pageResults, currentToken } = expectResult(answer, 200);
    expectEqual(answer, "pageResults", pageResults, [expectResult(created, 201)]);
    expectThat(answer, typeof currentToken === "string" && currentToken !== "", "a currentToken");
  });
  it("spec/checkins#search-check-ins · GET /checkins: an empty result is a page too", async (world) => {
    const { token } = await signUp(world);
    const answer = await world.call("GET /checkins", { token, query: { userID: "me" } });
    const { pageResults, currentToken, ...others } = expectResult(answer);
    expectEqual(answer, "pageResults", pageResults, []);
    expectEqual(answer, "type of currentToken", typeof currentToken, "string");
    expectEqual(answer, "other fields of the page", others, {});
  });
  it("spec/search#search-scope · GET /checkins: does not return private check-ins of other users", async (world) => {
    const { id } = await sharedCheckin(world);
    const answer = await world.call("GET /checkins", { by: otherUser });
    expectThat(answer, expectResult(answer).pageResults.length >= 0 && !answer.text.includes(id), `no ${id}`);
  });
  for (const [what, text] of Object.entries(texts))
    it(`hostile.md 19 · A comment and a description are stored and returned unchanged: ${what}`, async (world) => {
      const created = await checkIn(world, { comment: text, description: text });
      const { id } = expectResult(created, 201);
      const read = await world.call(`GET /checkins/${id}`, { by: sharedUser });
      for (const [answer, status] of [[created, 201] as const, [read, 200] as const]) {
        const { comment, description } = expectResult(answer, status);
        expectEqual(answer, "texts", { comment, description }, { comment: text, description: text });
      }
    });
  for (const name of ["comment", "description"])
    it(`spec/checkins#check-in-fields · POST /checkins: 400 ParameterOutOfRange for a ${name} of 4,001 characters`, async (world) => {
      for (const character of ["x", "\u{1f642}"]) {
        const answer = await checkIn(world, { [name]: character.repeat(4_001) });
        expectError(answer, { ...further.outOfRange, message: new RegExp(name) });
      }
    });
});

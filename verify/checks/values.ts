import { group } from "../check.ts";
import { further, missing } from "../errors.ts";
import { expectDate, expectEqual, expectError, expectResult, expectSameAnswer, expectThat } from "../expect.ts";
import { otherUser, shared, sharedCheckin, sharedUser, signUp, type World } from "../world.ts";

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

const accepted: readonly [sent: unknown, lat: number, lng: number][] = [
  ["48.2082,16.3738", 48.2082, 16.3738],
  ["48.2082, 16.3738", 48.2082, 16.3738],
  ["48.2082,   16.3738", 48.2082, 16.3738],
  ["-33.8688,151.2093", -33.8688, 151.2093],
  ["47,-122", 47, -122],
  ["0,0", 0, 0],
  ["0.0000001,-0.0000001", 0.0000001, -0.0000001],
  ["90,0", 90, 0],
  ["-90,180", -90, 180],
  ["0,-180", 0, -180],
  [{ lat: 48.2082, lng: 16.3738 }, 48.2082, 16.3738],
  [{ lat: -90, lng: 180, accuracy: 5 }, -90, 180],
  [{ lat: "48.2082", lng: "16.3738" }, 48.2082, 16.3738],
];
const outOfRange = [
  "90.0001,0",
  "-91,0",
  "0,180.0001",
  "0,-181",
  "1000,1000",
  { lat: 91, lng: 0 },
  { lat: 0, lng: -181 },
];
const notPairs = [
  ...["48.2082", "48.2082,", ",16.3738", ",", "a,b", "48.2082;16.3738", "1,2,3", "NaN,0", "0,Infinity", "0x10,0"],
  ...["48°,16°", {}, { lat: 48.2082 }, { lat: "a", lng: "b" }, { lat: null, lng: null }, [48.2082, 16.3738], 17],
  true,
];

async function checkIn(world: World, location: unknown) {
  return world.call("POST /checkins", { by: sharedUser, body: { location } });
}

/** Locations in requests and responses (spec/transport#locations). */
export const locationParameters = group("location-parameters", (it) => {
  for (const [sent, lat, lng] of accepted)
    it(`spec/transport#locations · Check-in: location ${JSON.stringify(sent)} is returned as numbers lat and lng`, async (world) => {
      const answer = await checkIn(world, sent);
      expectEqual(answer, "result.location", expectResult(answer, 201).location, { lat, lng });
    });
  for (const sent of outOfRange)
    it(`spec/transport#locations · Locations: 400 ParameterOutOfRange for ${JSON.stringify(sent)}`, async (world) => {
      expectError(await checkIn(world, sent), { ...further.outOfRange, message: /location/ });
    });
  it("spec/transport#locations · Locations: 400 ParameterOutOfRange for a latitude of twenty digits", async (world) => {
    const body = '{"location":{"lat":12345678901234567890,"lng":0}}';
    expectError(await world.call("POST /checkins", { by: sharedUser, body }), further.outOfRange);
  });
  for (const sent of notPairs)
    it(`spec/transport#locations · Locations: 400 ParameterIncorrectFormat for ${JSON.stringify(sent)}`, async (world) => {
      expectError(await checkIn(world, sent), { ...further.incorrectFormat, message: /location/ });
    });
  for (const sent of [undefined, null, ""])
    it(`spec/checkins#check-in-fields · 400 ParameterMissingRequiredValue for the location ${JSON.stringify(sent) ?? "absent"}`, async (world) => {
      expectError(await checkIn(world, sent), missing("location"));
    });
});

const dayMs = 86_400_000;
const twoDigits = (value: number) => String(value).padStart(2, "0");
const months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

/** The formats of an instant (spec/transport#dates). */
const forms: Readonly<Record<string, (date: Date) => string>> = {
  "/Date(ms)/": (date) => `/Date(${date.getTime()})/`,
  "integer ms": (date) => String(date.getTime()),
  "ISO 8601 date": (date) => date.toISOString().slice(0, 10),
  "ISO 8601 with Z": (date) => date.toISOString(),
  "ISO 8601 without milliseconds": (date) => `${date.toISOString().slice(0, 19)}Z`,
  "ISO 8601 with an offset": (date) => `${new Date(date.getTime() + 7_200_000).toISOString().slice(0, 19)}+02:00`,
  "ISO 8601 with an offset in hours": (date) =>
    `${new Date(date.getTime() - 18_000_000).toISOString().slice(0, 19)}-05`,
  "yyyy/M/d": (date) => `${date.getUTCFullYear()}/${date.getUTCMonth() + 1}/${date.getUTCDate()}`,
  "MM/dd/yyyy HH:mm:ss": (date) => {
    const [month, day, hour, minute, second] = [
      date.getUTCMonth() + 1,
      date.getUTCDate(),
      date.getUTCHours(),
      date.getUTCMinutes(),
      date.getUTCSeconds(),
    ].map(twoDigits);
    return `${month}/${day}/${date.getUTCFullYear()} ${hour}:${minute}:${second}`;
  },
  "Jul 9, 1981 7:07:21 AM": (date) => {
    const hour = date.getUTCHours();
    const time = `${hour % 12 || 12}:${twoDigits(date.getUTCMinutes())}:${twoDigits(date.getUTCSeconds())}`;
    const day = `${months[date.getUTCMonth()]} ${date.getUTCDate()}, ${date.getUTCFullYear()}`;
    return `${day} ${time} ${hour < 12 ? "AM" : "PM"}`;
  },
};

/** A user with one check-in, and its creation time according to the service. */
const oneCheckin = shared(async (world) => {
  const { token } = await signUp(world);
  const answer = await world.call("POST /checkins", { token, body: { location: "1,2" } });
  const { id, created } = expectResult(answer, 201);
  return { token, id, madeAt: expectDate(answer, "result.created", created) };
});

/** Expects that the range of dates includes the check-in, or excludes it. */
async function expectFound(world: World, range: (madeAt: number) => string, isFound: boolean, name = "created") {
  const { token, id, madeAt } = await oneCheckin(world);
  const query = { userID: "me", [name]: range(madeAt) };
  const answer = await world.call("GET /checkins", { token, query });
  const found = expectResult(answer).pageResults.map((checkin: { id: string }) => checkin.id);
  expectThat(answer, found.includes(id) === isFound, isFound ? `the check-in ${id}` : "no check-in");
}

async function refused(world: World, created: string) {
  const { token } = await oneCheckin(world);
  return world.call("GET /checkins", { token, query: { userID: "me", created } });
}

/** Dates in requests and responses. */
export const dates = group("dates", (it) => {
  for (const [form, format] of Object.entries(forms))
    it(`spec/transport#date-ranges · Dates: a range of ${form}`, async (world) => {
      const at = (madeAt: number, days: number) => format(new Date(madeAt + days * dayMs));
      await expectFound(world, (madeAt) => `${at(madeAt, -2)}-${at(madeAt, 2)}`, true);
      await expectFound(world, (madeAt) => `${at(madeAt, 2)}-${at(madeAt, 4)}`, false);
      await expectFound(world, (madeAt) => `${at(madeAt, -4)}-${at(madeAt, -2)}`, false);
      await expectFound(world, (madeAt) => `${at(madeAt, -2)}-`, true);
      await expectFound(world, (madeAt) => `${at(madeAt, 2)}-(null)`, false);
      await expectFound(world, (madeAt) => `-${at(madeAt, 2)}`, true);
      await expectFound(world, (madeAt) => `(null)-${at(madeAt, -2)}`, false);
    });
  it("spec/transport#date-ranges · Dates: a range may mix formats", async (world) => {
    await expectFound(world, (madeAt) => `1981/7/9-/Date(${madeAt})/`, true);
  });
  it("spec/transport#date-ranges · Dates: both ends of a range are inclusive, to the millisecond", async (world) => {
    await expectFound(world, (madeAt) => `${madeAt}-${madeAt}`, true);
    await expectFound(world, (madeAt) => `${madeAt + 1}-`, false);
    await expectFound(world, (madeAt) => `-${madeAt - 1}`, false);
  });
  it("spec/transport#dates · Dates: milliseconds may be negative, and years range from 1600 to 9999", async (world) => {
    await expectFound(world, () => "/Date(-86400000)/-", true);
    await expectFound(world, () => "/Date(-86400000)/-/Date(-1)/", false);
    await expectFound(world, () => "1600-01-01-9999-12-31", true);
  });
  it("spec/transport#date-ranges · Dates: lastModified filters in the same way", async (world) => {
    await expectFound(world, (madeAt) => `${madeAt}-${madeAt}`, true, "lastModified");
    await expectFound(world, (madeAt) => `${madeAt + 1}-`, false, "lastModified");
  });
  for (const range of ["/Date(2)/-/Date(1)/", "2026-02-01-2026-01-31", "2-1"])
    it(`spec/transport#date-ranges · Dates: 400 ParameterOutOfRange when the end is before the start: ${range}`, async (world) => {
      expectError(await refused(world, range), { ...further.outOfRange, message: /created/ });
    });
  for (const date of [
    "/Date(1)/",
    "1436400441000",
    "2026-01-31",
    "2026-01-31T12:00:00Z",
    "1981/7/9",
    "Jul 9, 1981 7:07:21 AM",
  ])
    it(`spec/transport#date-ranges · Dates: 400 ParameterIncorrectFormat for a date without a dash: ${date}`, async (world) => {
      expectError(await refused(world, date), { ...further.incorrectFormat, message: /created/ });
    });
  for (const range of [
    ...["yesterday-", "2026-02-30-2026-03-01", "2026-13-01-", "/Date()/-", "/Date(1.5)/-", "NaN-NaN", "a-b-c"],
    "1e400-",
  ])
    it(`spec/transport#date-ranges · 400 ParameterIncorrectFormat for an invalid range of dates: ${range}`, async (world) => {
      expectError(await refused(world, range), further.incorrectFormat);
    });
});

import { group } from "../check.ts";
import { further } from "../errors.ts";
import { expectDate, expectError, expectResult, expectThat } from "../expect.ts";
import { shared, signUp, type World } from "../world.ts";

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
    "yesterday-",
    "2026-02-30-2026-03-01",
    "2026-13-01-",
    "/Date()/-",
    "/Date(1.5)/-",
    "NaN-NaN",
    "a-b-c",
    "1e400-",
  ])
    it(`spec/transport#date-ranges · 400 ParameterIncorrectFormat for an invalid range of dates: ${range}`, async (world) => {
      expectError(await refused(world, range), further.incorrectFormat);
    });
});

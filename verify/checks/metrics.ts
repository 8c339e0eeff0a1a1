import { group } from "../check.ts";
import { further, missing } from "../errors.ts";
import { expectEqual, expectError, expectExactly, expectResult, expectSameAnswer, expectThat } from "../expect.ts";
import { registerDevice, sharedDevice, signUp, uniqueName, type World } from "../world.ts";

async function report(world: World, key: string, body: unknown, as?: string) {
  const token = as ?? (await sharedDevice(world));
  return world.call(`POST /metrics/events/${encodeURIComponent(key)}`, { token, body });
}

async function reportMany(world: World, body: unknown) {
  return world.call("POST /metrics/events", { token: await sharedDevice(world), body });
}

async function newEvent(world: World, body?: unknown, as?: string): Promise<string> {
  const answer = await report(world, "level", body, as);
  const { id, success, ...others } = expectResult(answer, 201);
  expectThat(answer, typeof id === "string" && id !== "", "an id");
  expectEqual(answer, "success", success, true);
  expectEqual(answer, "other fields of the result", others, {});
  return id;
}

async function end(world: World, id: string, as?: string) {
  return world.call(`DELETE /metrics/events/${id}`, { token: as ?? (await sharedDevice(world)) });
}

function names(count: number): Record<string, number> {
  return Object.fromEntries(Array.from({ length: count }, (_, index) => [`name ${index}`, index]));
}

const dayMs = 86_400_000;

/** Metric events (spec/metrics). */
export const metrics = group("metrics", (it) => {
  it("spec/metrics#report-an-event · POST /metrics/events/{event}: 201 with an id, with an empty body and without a body", async (world) => {
    for (const body of [undefined, "", {}, { location: "1,2", unknown: [] }]) await newEvent(world, body);
  });
  for (const value of ["text", 1.5, -1, true, false, null])
    it(`spec/metrics#event-values · a value may be ${JSON.stringify(value)}`, async (world) => {
      await newEvent(world, { value });
      await newEvent(world, { values: { name: value } });
      await newEvent(world, { value: { name: value } });
    });
  for (const timestamp of ["0001-01-01", "/Date(-1)/", "9999-12-31", "Jul 9, 1981 7:07:21 AM"])
    it(`spec/metrics#report-an-event · a timestamp may be any date: ${timestamp}`, async (world) => {
      void (await newEvent(world, { timestamp }));
    });
  for (const key of ["__proto__", "constructor", "𝒳".repeat(256), "a/b?c#d%", "%_"])
    it(`hostile.md 15, 19 · a key, a name and a value may be ${key.slice(0, 20)}`, async (world) => {
      expectResult(await report(world, key, `{"values":{${JSON.stringify(key)}:${JSON.stringify(key)}}}`), 201);
    });
  it("spec/metrics#event-values · 25 values are accepted, 26 are RequestTooLarge 413", async (world) => {
    await newEvent(world, { values: names(25) });
    expectError(await report(world, "level", { values: names(26) }), further.tooLarge);
  });
  it("spec/metrics#report-an-event · a key of 257 characters is ParameterOutOfRange", async (world) => {
    expectError(await report(world, "x".repeat(257), {}), further.outOfRange);
  });
  it("spec/transport#scalars · an object or an array where a scalar is expected is ParameterIncorrectFormat", async (world) => {
    for (const value of [[], { toString: [] }]) {
      expectError(await report(world, "level", { value }), further.incorrectFormat);
      expectError(await report(world, "level", { values: { name: value } }), further.incorrectFormat);
    }
    expectError(await report(world, "level", { values: [] }), further.incorrectFormat);
  });
  it("spec/metrics#report-many-events · POST /metrics/events: valid events are stored although others are invalid", async (world) => {
    const events = [{ key: "a", value: 1 }, null, {}, { KEY: "a", timestamp: Date.now() }, { key: "a", value: [] }];
    const answer = await reportMany(world, { events });
    const { accepted, rejected } = expectResult(answer, 201);
    expectEqual(answer, "accepted", accepted, 2);
    const pairs = rejected.map(({ index, error }: { index: number; error: string }) => [index, error]);
    expectEqual(answer, "rejected", pairs, [
      [1, "ParameterIncorrectFormat"],
      [2, "ParameterMissingRequiredValue"],
      [4, "ParameterIncorrectFormat"],
    ]);
  });
  it("spec/metrics#report-many-events · 1,000 events are accepted, 1,001 are RequestTooLarge 413", async (world) => {
    const events = Array.from({ length: 1_000 }, (_, index) => ({ key: "many", value: index }));
    expectExactly(await reportMany(world, { events }), { accepted: 1_000, rejected: [] }, 201);
    expectError(await reportMany(world, { events: [...events, { key: "many" }] }), further.tooLarge);
  });
  it("spec/idempotency#replays · POST /metrics/events: a repeat with its key may have another sentAt", async (world) => {
    const headers = { "Idempotency-Key": uniqueName("events") };
    const send = (sentAt: number) =>
      world.call("POST /metrics/events", { by: sharedDevice, headers, body: { events: [{ key: "again" }], sentAt } });
    expectResult(await send(Date.now() - 1_000), 201);
    const repeated = await send(Date.now());
    expectResult(repeated, 201);
    expectEqual(repeated, "Idempotent-Replayed", repeated.headers["idempotent-replayed"], "true");
  });
  it("spec/metrics#report-many-events · POST /metrics/events: events is required, and must be an array", async (world) => {
    expectError(await reportMany(world, {}), missing("events"));
    expectError(await reportMany(world, { events: { length: 1 } }), further.incorrectFormat);
  });
  it("spec/metrics#report-many-events · a timestamp may be 30 days old, and sentAt corrects a wrong clock", async (world) => {
    const now = Date.now();
    const wrong = 400 * dayMs;
    const events = [now - 29 * dayMs, now - 31 * dayMs].map((at) => ({ key: "a", timestamp: at + wrong }));
    const answer = await reportMany(world, { events, sentAt: now + wrong });
    const { accepted, rejected } = expectResult(answer, 201);
    expectEqual(answer, "accepted", accepted, 1);
    expectEqual(answer, "error", rejected[0]?.error, "ParameterOutOfRange");
  });
  it("spec/metrics#timed-events · DELETE /metrics/events/{event} returns the duration, in both spellings; ending twice is 404", async (world) => {
    for (const body of [{ timeoutInSeconds: 60 }, {}]) {
      const id = await newEvent(world, body);
      const answer = await end(world, id);
      const { elaspedTimeInMs, elapsedTimeInMs } = expectResult(answer);
      expectThat(answer, Number.isInteger(elaspedTimeInMs) && elaspedTimeInMs >= 0, "elaspedTimeInMs");
      expectEqual(answer, "elapsedTimeInMs", elapsedTimeInMs, elaspedTimeInMs);
      expectError(await end(world, id), further.itemDoesNotExist);
    }
  });
  it("hostile.md 13 · an event of another user or device does not exist", async (world) => {
    const [user, other] = [await signUp(world), await signUp(world)];
    const id = await newEvent(world, {}, user.token);
    const never = await end(world, id, user.token).then(() => end(world, id, user.token));
    expectError(never, further.itemDoesNotExist);
    const alive = await newEvent(world, {}, user.token);
    for (const token of [other.token, await registerDevice(world)]) {
      expectSameAnswer(await end(world, alive, token), never);
    }
    expectResult(await end(world, alive, user.token));
  });
  it("spec/transport#ids · a malformed id is ParameterIncorrectFormat", async (world) => {
    expectError(await end(world, "nothing"), further.incorrectFormat);
  });
});

import assert from "node:assert/strict";
import { after, afterEach, before, describe, it } from "node:test";
import type { StreamMessage } from "../../testkit/stream-messages.ts";
import type { NewEvent } from "../src/event-log/recorder.ts";
import { destination, distanceMeters, type Location } from "../src/lib/locations.ts";
import { createRandom, pointWithin } from "./attacker.ts";
import { openStream, type TestStream } from "./event-streams.ts";
import { startTestApp, type TestApp, type TestUser } from "./harness.ts";
import { assertFarOff, assertHidden, createPeople, memoryForPages, text } from "./people.ts";

/**
 * The adversary of spec/privacy#adversary with event streams: no stream reveals more than the reads of the same user.
 */

let test: TestApp;
let people: ReturnType<typeof createPeople>;
let attacker: TestUser;
const streams: TestStream[] = [];
before(async () => {
  test = await startTestApp({ ...memoryForPages, RATE_LIMITS: "off" });
  people = createPeople(test);
  attacker = await test.signUp("Attacker");
});
after(() => test.close());
afterEach(() => {
  for (const stream of streams.splice(0)) stream.cut();
});

const vienna = { lat: 48.2082, lng: 16.3738 };

async function listen(query: string, { token }: TestUser = attacker, lastId?: string): Promise<TestStream> {
  const headers: Record<string, string> = lastId === undefined ? {} : { "last-event-id": lastId };
  const stream = await openStream(test.port, `/events/stream?types=checkin.*,user.*${query}`, { token, headers });
  streams.push(stream);
  assert.equal((await stream.next()).event, "ready");
  return stream;
}

async function call(operation: string, { token }: TestUser, body?: object) {
  const answer = await test.call(operation, { token, ...(body && { body }) });
  assert.ok(answer.status < 300, JSON.stringify(answer.body));
  return answer.body.result;
}

const isAbout = (id: string) => (message: StreamMessage) => message.data.objectID === id;

/** Returns the events of a stream up to those of a new check-in that everyone may read. */
async function untilNow(streamsOpen: readonly TestStream[], by: TestUser): Promise<StreamMessage[][]> {
  const { id } = await call("POST /checkins", by, { readPermissions: "App", location: text(vienna) });
  return Promise.all(streamsOpen.map(async (stream) => (await stream.until(isAbout(id))).slice(0, -1)));
}

async function makePrivate(id: string, user: TestUser): Promise<void> {
  await call(`PATCH /checkins/${id}`, user, { readPermissions: "User" });
}

// spec/events#privacy
describe("events of several users that a process reads in one query: hostile.md 46", () => {
  /** Records changes in one transaction, so that streams find all of them together. */
  async function recordTogether(events: readonly NewEvent[]): Promise<void> {
    const { appid } = test.application;
    await test.app.database.write(({ queries }) => test.app.events.record(appid, events, queries));
  }

  it("are shown to each reader like its own reads", async () => {
    const users = [await people.signUpFuzzed(), await people.signUpFuzzed(), await people.signUpFuzzed()];
    const made = await Promise.all(
      users.map((user, n) =>
        call("POST /checkins", user, { readPermissions: "App", location: text(vienna), comment: `${n}` }),
      ),
    );
    const own = await Promise.all(users.map((user) => listen("", user)));
    const changed = { type: "checkin.changed", changed: ["comment"], wasShown: true, isShown: true } as const;
    await recordTogether(users.map(({ id }, n) => ({ ...changed, objectId: made[n].id, userId: id })));
    for (const [reader, stream] of own.entries()) {
      for (const [owner, { id }] of made.entries()) {
        const { data } = await stream.next();
        assert.equal(data.objectID, id);
        const { location } = await call(`GET /checkins/${id}`, users[reader] ?? attacker);
        assert.deepEqual(data.object.location, location, `of user ${owner}, as user ${reader} sees it`);
        assert.equal(distanceMeters(data.object.location, vienna) === 0, reader === owner);
      }
    }
  });

  it("include private values of one key only for their owner", async () => {
    const users = [await test.signUp(), await test.signUp(), await test.signUp()];
    const setAll = () =>
      users.map(
        ({ id }) => ({ type: "metadata.changed", objectId: test.application.appid, key: "secret", slot: id }) as const,
      );
    for (const user of users)
      await call("PUT /metadata/app/secret", user, { value: `of ${user.id}`, visibility: "User" });
    const own = await Promise.all(users.map((user) => listen(",metadata.*", user)));
    await recordTogether(setAll());
    for (const [reader, stream] of own.entries()) {
      const { data } = await stream.next();
      assert.equal(data.object.value, `of ${users[reader]?.id}`);
    }
  });
});

// spec/events#privacy, spec/streams#resume
describe("a stream that resumes: hostile.md 46", () => {
  it("reveals no more about earlier changes than a GET does", async () => {
    const [ann, hidden] = [await test.signUp(), await test.signUp()];
    const first = await listen("");
    const make = (user: TestUser, comment: string, more = {}) =>
      call("POST /checkins", user, { location: text(vienna), readPermissions: "App", comment, ...more });
    first.cut();
    const cursor = first.lastId;
    const lasting = await make(ann, "for everyone");
    const closed = await make(ann, "secret of what was closed");
    await makePrivate(closed.id, ann);
    const deleted = await make(ann, "secret of what was deleted");
    await call(`DELETE /checkins/${deleted.id}`, ann);
    const edited = await make(ann, "secret of an earlier text");
    await call(`PATCH /checkins/${edited.id}`, ann, { comment: "the later text" });
    const always = await make(ann, "secret of what was always private", { readPermissions: "User" });
    await call(`DELETE /checkins/${always.id}`, ann);
    const celebrity = await make(hidden, "of one who hides");
    await call("PATCH /users/me", hidden, { celebMode: true, firstName: "secret name" });
    await people.setFuzzing(ann, true);

    const [resumed, own] = [await listen("", attacker, cursor), await listen("", ann, cursor)];
    const [others = [], owned = []] = await untilNow([resumed, own], attacker);
    for (const { data } of others) {
      if (data.object === undefined) continue;
      const path = data.type.startsWith("user.") ? "users" : "checkins";
      assert.deepEqual(data.object, await call(`GET /${path}/${data.objectID}`, attacker));
    }
    assert.ok(!resumed.text.includes("secret"), resumed.text);
    const typesOf = (messages: readonly StreamMessage[], id: string) =>
      messages.filter(isAbout(id)).map(({ data }) => data.type);
    assert.deepEqual(typesOf(others, lasting.id), ["checkin.created"]);
    const [shown] = others.filter(isAbout(lasting.id));
    assertFarOff(shown?.data.object.location, vienna);
    assert.deepEqual(typesOf(others, closed.id), ["checkin.deleted"]);
    assert.deepEqual(typesOf(others, deleted.id), ["checkin.deleted"]);
    assert.deepEqual(typesOf(others, always.id), []);
    assert.deepEqual(typesOf(others, hidden.id), ["user.deleted"]);
    for (const { data } of others) if (data.type.endsWith(".deleted")) assert.equal(data.userID, undefined);
    const isReadable = (await test.call(`GET /checkins/${celebrity.id}`, { token: attacker.token })).status === 200;
    assert.equal(typesOf(others, celebrity.id).includes("checkin.created"), isReadable);
    assert.equal(typesOf(owned, always.id).at(-1), "checkin.deleted");
  });
});

// spec/privacy#fuzzed-locations
describe("locationFuzzing: a user whom streams follow", () => {
  it("other users receive only fuzzed locations, and no event for moves that do not change these", async () => {
    const random = createRandom(7);
    const user = await people.signUpFuzzed();
    const stream = await listen(`&userID=${user.id}`);
    const { id } = await people.checkIn(user, vienna);
    const shown: Location[] = [(await stream.next()).data.object.location];
    for (let step = 0; step < 60; step += 1) {
      const truth = pointWithin(vienna, 200, random);
      await people.move(id, truth, user);
      const seen = await people.readLocation(id, attacker);
      assertFarOff(seen, truth);
      if (distanceMeters(seen, shown.at(-1) ?? seen) === 0) continue; // the stream must not send it
      const { data } = await stream.next();
      assert.deepEqual([data.type, data.changed, data.object.location], ["checkin.changed", ["location"], seen]);
      shown.push(seen);
    }
    const [rest] = await untilNow([stream], user);
    assert.deepEqual(rest, []);
    assertHidden(shown, vienna);
  });

  it("circles of many subscriptions match the fuzzed location, so they come no closer than searches", async () => {
    const random = createRandom(8);
    const user = await people.signUpFuzzed();
    const radii = Array.from({ length: 60 }, (_, n) => 25 + n * 30);
    const circlesPerStream = 20;
    const open = new Map<number, TestStream>();
    // A stream with one circle reveals whether it matches; a device may have ten streams.
    const widest = radii.filter((_, n) => n % 8 === 0);
    for (const meters of widest) {
      open.set(meters, await listen(`&userID=${user.id}&locationRange=${text(vienna)},${meters}`));
    }
    const narrow = radii.slice(0, circlesPerStream).filter((meters) => meters < 480);
    const subscriptions = narrow.map((meters) => ({ userID: user.id, locationRange: `${text(vienna)},${meters}` }));
    const near = await openStream(
      test.port,
      `/events/stream?subscriptions=${encodeURIComponent(JSON.stringify(subscriptions))}`,
      { token: attacker.token },
    );
    streams.push(near);
    assert.equal((await near.next()).event, "ready");
    const made = new Map<string, Location>();
    for (let n = 0; n < 12; n += 1) {
      const { id } = await people.checkIn(user, pointWithin(vienna, 15, random));
      made.set(id, await people.readLocation(id, attacker));
    }
    const farAway = { readPermissions: "App", location: "0,0" };
    const last = await call("POST /checkins", user, { ...farAway, location: text(destination(vienna, 0, 1)) });
    // Deletions match any area, because the log does not contain the location.
    await call(`DELETE /checkins/${last.id}`, user);
    const isLast = (message: StreamMessage) => message.data.type === "checkin.deleted";
    for (const [meters, stream] of open) {
      const told = new Set((await stream.until(isLast)).map(({ data }) => data.objectID));
      for (const [id, shown] of made) {
        const distance = distanceMeters(vienna, shown);
        if (Math.abs(distance - meters) < 3) continue; // on the edge
        assert.equal(told.has(id), distance < meters, `${id} at ${distance} m, in a circle of ${meters} m`);
      }
    }
    assert.equal((await near.until(isLast)).length, 1, "no circle that is closer than the shift holds an object");
  });

  it("the user's own location is never matched by an area", async () => {
    const user = await test.signUp();
    const stream = await listen(`&userID=${user.id}&locationRange=${text(vienna)},100000`);
    await call("PATCH /users/me", user, { location: text(vienna), firstName: "Here" });
    const [told] = await untilNow([stream], user);
    assert.deepEqual(told, []);
  });
});

import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { assertError, startTestApp, type TestApp, type TestUser } from "../../test/harness.ts";
import { waitUntil } from "../../test/mails.ts";
import { createOwnedObject } from "../../test/owned-seeds.ts";
import { dataPart, formHeaders, formOf, png } from "../../test/uploads.ts";
import { maintain } from "../app/maintenance.ts";
import { clientEventTypes } from "../event-log/event-types.ts";
import { ownedIdKinds, ownedKinds } from "../lib/kinds.ts";

interface ReceivedEvent {
  readonly id: string;
  readonly type: string;
  readonly objectID: string;
  readonly created: string;
  readonly changed?: readonly string[];
  // biome-ignore lint/suspicious/noExplicitAny: objects of every kind, whose content is asserted
  readonly object?: any;
  readonly [name: string]: unknown;
}

let test: TestApp;
let ann: TestUser;
let ben: TestUser;
before(async () => {
  test = await startTestApp({ RATE_LIMITS: "off" });
  [ann, ben] = [await test.signUp("Ann"), await test.signUp("Ben")];
});
after(() => test.close());

/** Creates a reader that continues from its last cursor. */
function follow(token: string, query = "") {
  let cursor: string | undefined;
  return {
    get cursor() {
      return cursor;
    },
    async next(): Promise<ReceivedEvent[]> {
      const after = cursor === undefined ? "" : `&after=${cursor}`;
      const { status, body } = await test.call(`GET /events?x=1${query}${after}`, { token });
      assert.equal(status, 200, JSON.stringify(body));
      assert.equal(body.result.isReset, undefined);
      cursor = body.result.currentToken;
      return body.result.pageResults;
    },
  };
}

function typesOf(events: readonly { readonly type: string }[]): string[] {
  return events.map(({ type }) => type);
}

/** Makes the calls, and returns the events that each of two users receives. */
async function seenBy(work: () => Promise<void>): Promise<{ own: ReceivedEvent[]; others: ReceivedEvent[] }> {
  const [mine, theirs] = [follow(ann.token), follow(ben.token)];
  await Promise.all([mine.next(), theirs.next()]);
  await work();
  return { own: await mine.next(), others: await theirs.next() };
}

async function call(operation: string, body?: object, token = ann.token) {
  const answer = await test.call(operation, { token, ...(body && { body }) });
  assert.ok(answer.status < 300, JSON.stringify(answer.body));
  return answer.body.result;
}

describe("GET /events: spec/events#read-events", () => {
  it("returns no events without a cursor, and a cursor for the present", async () => {
    await call("POST /checkins", { location: "1,2" });
    const { body } = await test.call("GET /events", { token: ann.token });
    assert.deepEqual(body.result.pageResults, []);
    assert.match(body.result.currentToken, /^[\w-]{1,200}$/);
    assert.equal(body.result.nextToken, undefined);
  });

  it("returns a write in the next page, with the object as a GET returns it: spec/events#form", async () => {
    const reader = follow(ann.token);
    await reader.next();
    const checkin = await call("POST /checkins", { location: "1,2", tag: "home" });
    const [event, ...others] = await reader.next();
    assert.deepEqual(others, []);
    assert.match(`${event?.id}`, /^evt_/);
    assert.deepEqual(event, {
      id: event?.id,
      type: "checkin.created",
      created: event?.created,
      objectID: checkin.id,
      userID: ann.id,
      object: await call(`GET /checkins/${checkin.id}`),
    });
    assert.deepEqual(await reader.next(), []);
  });

  it("returns pages of the requested length, which continue from nextToken", async () => {
    const reader = follow(ann.token, "&pageSize=2");
    await reader.next();
    for (let n = 0; n < 5; n += 1) await call("POST /checkins", { location: `${n},2`, tag: `${n}` });
    const tags: string[] = [];
    const lengths: number[] = [];
    for (let n = 0; n < 3; n += 1) {
      const page = await reader.next();
      lengths.push(page.length);
      tags.push(...page.map(({ object }) => object.tag));
    }
    assert.deepEqual(lengths, [2, 2, 1]);
    assert.deepEqual(tags, ["0", "1", "2", "3", "4"]);
  });

  it("omits events that its filters exclude: spec/events#filters", async () => {
    const [made, put, deleted] = ["checkin.created", "metadata.changed", "metadata.deleted"];
    // The value of `one` is deleted before it is read, so only its deletion is reported.
    const readers = {
      "&types=CheckIn.created": [made, made],
      "&types=metadata.*,location.*": [put, deleted],
      "&key=one": [deleted],
      "&keyPrefix=t": [put],
      "&visibility=App": [deleted],
      "&tag=here": [made, deleted],
      "&locationRange=10,20,1000": [made, deleted],
      "&objectID=me": [put, deleted],
      "&userID=me&types=checkin.*": [made, made],
      [`&userID=${ben.id}`]: [],
    };
    const following = Object.keys(readers).map((query) => follow(ann.token, query));
    for (const reader of following) await reader.next();
    await call("POST /checkins", { location: "10,20" });
    await call("POST /checkins", { location: "30,40", tag: "here" });
    await call("PUT /metadata/me/one", { value: 1, visibility: "App" });
    await call("PUT /metadata/me/two", { value: 2 });
    await call("DELETE /metadata/me/one", { visibility: "App" });
    for (const [index, [query, expected]] of Object.entries(readers).entries()) {
      assert.deepEqual(typesOf((await following[index]?.next()) ?? []), expected, query);
    }
  });

  it("refuses invalid patterns, altered cursors and cursors of another application: spec/events#cursors", async () => {
    const other = await test.createApplication("Other");
    const stranger = await test.signUp("Stranger", other);
    const { currentToken } = await call("GET /events");
    const foreign = (await test.call("GET /events", { token: stranger.token })).body.result.currentToken;
    const altered = `${currentToken.slice(0, -2)}${currentToken.endsWith("AA") ? "BB" : "AA"}`;
    const many = Array(21).fill("*").join();
    const wrong = ["types=nothing", "types=checkin", "types=user.created", `types=${many}`, `after=${foreign}`];
    for (const query of [...wrong, `after=${altered}`, "after=1;0", "waitSeconds=x"]) {
      const { body } = await test.call(`GET /events?${query}`, { token: ann.token });
      assert.equal(body.error, "ParameterIncorrectFormat", query);
    }
    assert.equal(
      (await test.call("GET /events?waitSeconds=26", { token: ann.token })).body.error,
      "ParameterOutOfRange",
    );
    assert.equal((await test.call(`GET /events?after=${currentToken}`, { token: ben.token })).status, 200);
  });

  it("answers a long poll with the first event, or at its timeout: spec/events#wait", async () => {
    const { currentToken } = await call("GET /events");
    const waiting = (async () => {
      let page = { pageResults: [] as ReceivedEvent[], currentToken };
      do {
        page = await call(`GET /events?waitSeconds=25&types=blob.*&after=${page.currentToken}`);
      } while (page.pageResults.length === 0); // on a busy machine the write may take longer
      return page;
    })();
    await call("POST /checkins", { location: "1,2" });
    const form = { body: formOf([dataPart(Buffer.from("bytes"))]), headers: formHeaders, token: ann.token };
    const blob = await test.call("POST /blobs", form);
    assert.deepEqual(
      (await waiting).pageResults.map(({ type, objectID }: ReceivedEvent) => [type, objectID]),
      [["blob.created", blob.body.result.id]],
    );
    const { currentToken: now } = await call("GET /events");
    const began = performance.now();
    assert.deepEqual((await call(`GET /events?waitSeconds=1&after=${now}`)).pageResults, []);
    assert.ok(performance.now() - began > 900);
  });

  it("refuses a long poll whose token is revoked", async () => {
    const { token } = await test.signUp("Leaving");
    const { currentToken } = await call("GET /events", undefined, token);
    const wait = () => test.call(`GET /events?waitSeconds=25&after=${currentToken}`, { token });
    const waiting = wait();
    await call("POST /users/me/logout", {}, token);
    const first = await waiting;
    const { body } = first.status === 200 ? await wait() : first; // on a busy machine the logout may take longer
    assert.equal(body.error, "AuthAccessTokenInvalid");
  });

  it("returns events in a batch, without waiting", async () => {
    const { currentToken } = await call("GET /events");
    await call("POST /checkins", { location: "1,2" });
    const read = { method: "GET", path: `/events?after=${currentToken}&waitSeconds=25` };
    const { responses } = await call("POST /batch", {
      requests: [read, { ...read, path: `${read.path}&types=blob.*` }],
    });
    assert.deepEqual(
      responses.map(({ result }: { result: { pageResults: ReceivedEvent[] } }) => typesOf(result.pageResults)),
      [["checkin.created"], []],
    );
  });
});

describe("types of events: spec/events#types", () => {
  it("are each recorded by the write that causes them", async () => {
    const walker = await test.signUp("Walker");
    const { token } = walker;
    const reader = follow(token);
    const leaver = follow(ben.token);
    await Promise.all([reader.next(), leaver.next()]);
    const seen: string[] = [];
    const note = async () => void seen.push(...typesOf(await reader.next()));
    for (const kind of ownedIdKinds) {
      const { id } = await createOwnedObject(test, token, kind);
      await note();
      const path = `/${ownedKinds[kind].collection}/${id}`;
      await call(`PATCH ${path}`, { tag: "changed" }, token);
      await note();
      await call(`DELETE ${path}`, undefined, token);
      await note();
    }
    const picture = { body: formOf([dataPart(await png(1, 1))]), headers: formHeaders };
    await call("PUT /metadata/me", { values: { a: 1, b: 2 } }, token);
    await call("POST /metadata/me/c/increment", {}, token);
    await note();
    await call("DELETE /metadata/me/a", {}, token);
    await note();
    await call("PATCH /users/me", { firstName: "Will" }, token);
    await call("PATCH /devices/current", { tag: "phone" }, token);
    await test.call("POST /users/me/profilepicture", { ...picture, token });
    await note();
    await call("DELETE /users/me", undefined, token);
    seen.push(...typesOf(await leaver.next()).filter((type) => type === "user.deleted"));
    const ofAccounts = /^(identity|device\.re|user\.signed)/; // events.accounts.test.ts
    assert.deepEqual(
      [...new Set(seen)].toSorted(),
      clientEventTypes.filter((type) => !ofAccounts.test(type)).toSorted(),
    );
    const metadata = seen.filter((type) => type === "metadata.changed");
    assert.equal(metadata.length, 3, "one for each key of a bulk put");
  });

  it("name the changed fields, and only the owner receives a change that others cannot see", async () => {
    const { id } = await call("POST /checkins", { location: "1,2", readPermissions: "App" });
    const { own, others } = await seenBy(async () => {
      await call(`PATCH /checkins/${id}`, { comment: "Hello", tag: "a" });
      await call(`PATCH /checkins/${id}`, { tag: "a" });
    });
    assert.deepEqual(
      own.map(({ changed }) => changed),
      [["comment", "tag"], []],
    );
    assert.deepEqual(
      others.map(({ changed }) => changed),
      [["comment", "tag"]],
    );
  });

  it("are recorded for all items of an atomic batch or for none, and a replay records none", async () => {
    const items = [
      { method: "POST", path: "/checkins", parameters: { location: "1,2" } },
      { method: "GET", path: "/checkins/nothing" },
    ];
    const { own } = await seenBy(async () => {
      await test.call("POST /batch", { token: ann.token, body: { mode: "atomic", requests: items } });
      const headers = { "idempotency-key": "events" };
      for (let n = 0; n < 2; n += 1) {
        await test.call("POST /checkins", { token: ann.token, body: { location: "5,6" }, headers });
      }
    });
    assert.deepEqual(typesOf(own), ["checkin.created"]);
  });
});

describe("readers see only what their own reads show: spec/events#views", () => {
  it("only the owner receives events of a private object, even when it is deleted", async () => {
    const { own, others } = await seenBy(async () => {
      const { id } = await call("POST /checkins", { location: "1,2" });
      await call(`PUT /metadata/${id}/key`, { value: 1, visibility: "App" });
      await call(`DELETE /metadata/${id}/key`, { visibility: "App" });
      await call(`DELETE /checkins/${id}`);
    });
    assert.deepEqual(typesOf(own), ["metadata.deleted", "checkin.deleted"]);
    assert.deepEqual(others, []);
  });

  it("an object that becomes readable is reported as created, and one that stops being readable as deleted, with its id only", async () => {
    const shared = await call("POST /checkins", { location: "1,2", readPermissions: "App" });
    const hidden = await call("POST /checkins", { location: "1,2" });
    const { own, others } = await seenBy(async () => {
      await call(`PATCH /checkins/${hidden.id}`, { readPermissions: "App" });
      await call(`PATCH /checkins/${shared.id}`, { readPermissions: "User" });
    });
    assert.deepEqual(typesOf(own), ["checkin.changed", "checkin.changed"]);
    const [created, deleted] = others;
    assert.deepEqual([created?.type, created?.objectID], ["checkin.created", hidden.id]);
    assert.deepEqual(
      { ...deleted, id: "", created: "" },
      { id: "", type: "checkin.deleted", created: "", objectID: shared.id },
    );
  });

  it("an event shows no data that became private after it: spec/events#privacy", async () => {
    const { others } = await seenBy(async () => {
      const { id } = await call("POST /checkins", { location: "1,2", comment: "secret", readPermissions: "App" });
      await call(`PATCH /checkins/${id}`, { readPermissions: "User" });
    });
    assert.deepEqual(typesOf(others), ["checkin.deleted"]);
    assert.ok(!JSON.stringify(others).includes("secret"));
  });

  it("fuzzed locations stay fuzzed, and only the owner receives a change of location that others cannot see", async () => {
    const fuzzy = await test.signUp("Fuzzy");
    await call("PATCH /users/me", { locationFuzzing: true }, fuzzy.token);
    const mine = follow(fuzzy.token, "&types=checkin.*");
    const theirs = follow(ben.token, `&types=checkin.*&userID=${fuzzy.id}`);
    const near = follow(ben.token, "&locationRange=48.2082,16.3738,100");
    for (const reader of [mine, theirs, near]) await reader.next();
    const { id } = await call("POST /checkins", { location: "48.2082,16.3738", readPermissions: "App" }, fuzzy.token);
    const shown = await call(`GET /checkins/${id}`, undefined, ben.token);
    assert.notDeepEqual(shown.location, { lat: 48.2082, lng: 16.3738 });
    await call(`PATCH /checkins/${id}`, { location: "48.2082,16.37381" }, fuzzy.token);
    const moved = await call(`GET /checkins/${id}`, undefined, ben.token);
    const isSeen = JSON.stringify(moved.location) !== JSON.stringify(shown.location);
    assert.deepEqual(
      (await mine.next()).map(({ changed }) => changed),
      [undefined, ["location"]],
    );
    const received = await theirs.next();
    assert.deepEqual(typesOf(received), isSeen ? ["checkin.created", "checkin.changed"] : ["checkin.created"]);
    for (const { object } of received) assert.deepEqual(object, moved);
    assert.deepEqual(await near.next(), [], "an area finds the location that the reader sees");
  });

  it("others receive changes of a profile's visible fields, and celebMode as a deletion", async () => {
    const { own, others } = await seenBy(async () => {
      await call("PATCH /users/me", { email: "ann@example.org", location: "1,2" });
      await call("PATCH /users/me", { firstName: "Anna", gender: "Female" });
      await call("PATCH /users/me", { celebMode: true });
      await call("PATCH /users/me", { lastName: "Star" });
      await call("PATCH /users/me", { celebMode: false });
    });
    assert.deepEqual(
      own.map(({ changed }) => changed),
      [["email", "location"], ["firstName", "gender"], ["celebMode"], ["lastName"], ["celebMode"]],
    );
    assert.deepEqual(
      others.map(({ type, changed }) => [type, changed]),
      [
        ["user.changed", ["firstName"]],
        ["user.deleted", undefined],
        ["user.changed", undefined],
      ],
    );
    for (const { object } of others) assert.equal(object?.email, undefined);
  });

  it("a device token that names its user as me is refused with 403 AuthUserAccessTokenRequired, as in other searches", async () => {
    const token = await test.registerDevice();
    for (const filter of ["userID=me", "objectID=me", "userID=ME"]) {
      const from = (await test.call("GET /events", { token })).body.result.currentToken;
      for (const path of [`/events?${filter}`, `/events?${filter}&after=${from}`, `/events/stream?${filter}`]) {
        assertError(await test.call(`GET ${path}`, { token }), 403, "AuthUserAccessTokenRequired", 263);
      }
      const [name = "", value] = filter.split("=");
      for (const body of [{ [name]: value }, { subscriptions: [{}, { [name]: value }] }]) {
        const answer = await test.call("POST /events/streams", { token, body });
        assertError(answer, 403, "AuthUserAccessTokenRequired", 263);
      }
    }
    assertError(await test.call("GET /checkins?userID=me", { token }), 403, "AuthUserAccessTokenRequired", 263);
  });

  it("a device token receives only events of its own device and of the application's metadata", async () => {
    const reader = follow(ann.deviceToken);
    await reader.next();
    await call("POST /checkins", { location: "1,2", readPermissions: "App" });
    await call("PUT /metadata/app/motd", { value: "Hi", visibility: "App" });
    await call("PUT /metadata/app/own", { value: "mine" });
    await call("PATCH /devices/current", { tag: "mine" }, ann.deviceToken);
    await call("PATCH /devices/current", { tag: "other" }, ben.deviceToken);
    const events = await reader.next();
    assert.deepEqual(
      events.map(({ type, key, object }) => [type, key ?? object.tag]),
      [
        ["metadata.changed", "motd"],
        ["device.changed", "mine"],
      ],
    );
  });
});

describe("the event log: spec/events#recording", () => {
  async function configured(events: object | null) {
    const application = await test.createApplication("Configured");
    const operator = await test.createOperator();
    const configure = (given: object | null) =>
      call(`PATCH /_/api/applications/${application.appid}/settings`, { events: given }, operator.token);
    await configure(events);
    return { application, user: await test.signUp("Quin", application), configure };
  }

  it("contains events from before its first reader if the application always records", async () => {
    const { application, user, configure } = await configured({ record: "always" });
    const { appid } = application;
    await call("POST /checkins", { location: "1,2" }, user.token);
    const types = ["device.registered", "user.created", "user.signed_in", "checkin.created"];
    assert.deepEqual(typesOf(await rowsOf(appid)), types);
    const reader = follow(user.token);
    await reader.next();
    await configure(null);
    await call("POST /checkins", { location: "3,4" }, user.token);
    assert.deepEqual(typesOf(await reader.next()), ["checkin.created"], "its readers miss nothing");
  });

  it("refuses readers and stores no further events if the application never records", async () => {
    const { application, user, configure } = await configured(null);
    const reader = follow(user.token);
    await reader.next();
    await configure({ record: "never" });
    const disabled = { status: 403, error: "AuthAPICallDisabledByDeveloper" };
    for (const query of ["", `?after=${reader.cursor}`]) {
      const { status, body } = await test.call(`GET /events${query}`, { token: user.token });
      assert.deepEqual({ status, error: body.error }, disabled);
    }
    await waitUntil(async () => {
      const rows = await rowsOf(application.appid);
      await call("POST /checkins", { location: "1,2" }, user.token);
      return (await rowsOf(application.appid)).length === rows.length;
    });
    await configure({ record: "wanted" });
    const { isReset } = await call(`GET /events?after=${reader.cursor}`, undefined, user.token);
    assert.equal(isReset, true, "what was written meanwhile is missing");
  });

  it("omits the types that the setting excludes, and records revocations", async () => {
    const { application, user, configure } = await configured({ types: ["CheckIn.*", "user.deleted"] });
    const reader = follow(user.token);
    const silent = follow(user.token, "&types=location.*");
    await Promise.all([reader.next(), silent.next()]);
    await call("POST /checkins", { location: "1,2" }, user.token);
    await call("POST /locations", { name: "Place", location: "1,2" }, user.token);
    await call("PATCH /users/me", { firstName: "Quin" }, user.token);
    assert.deepEqual(typesOf(await reader.next()), ["checkin.created"]);
    assert.deepEqual(await silent.next(), []);
    await call("DELETE /users/me", undefined, user.token);
    assert.deepEqual(typesOf(await rowsOf(application.appid)), ["checkin.created", "user.deleted", "revocation.user"]);
    for (const events of [
      { types: ["chekin.*"] },
      { types: ["revocation.user"] },
      { types: "*" },
      { record: "sometimes" },
      { retentionDays: 31 },
      { days: 3 },
    ]) {
      const operator = await test.createOperator();
      const path = `PATCH /_/api/applications/${application.appid}/settings`;
      const { status, body } = await test.call(path, { token: operator.token, body: { events } });
      assert.deepEqual([status, body.error], [400, "ParameterOutOfRange"], JSON.stringify(events));
      assert.match(body.message, /events/);
    }
    await configure({ types: ["checkin.*"], retentionDays: 30 });
  });

  it("stores events as long as the setting says: spec/events#retention", async () => {
    const { application, user } = await configured({ retentionDays: 1, record: "always" });
    await call("POST /checkins", { location: "1,2" }, user.token);
    const old = (await rowsOf(application.appid)).length;
    test.advance(86_400_001);
    const { token } = await test.signUp("Rob", application);
    await call("POST /checkins", { location: "1,2" }, token);
    await test.app.eventLog.maintain(application.appid);
    const rows = await rowsOf(application.appid);
    assert.ok(old > 1);
    assert.deepEqual(typesOf(rows), ["device.registered", "user.created", "user.signed_in", "checkin.created"]);
  });

  it("gets a setting that a restore did not contain from maintenance", async () => {
    const { application, user } = await configured({ record: "always" });
    await test.app.database.write(async ({ queries }) => {
      await queries.deleteFrom("events").where("application_id", "=", application.appid).execute();
      await queries.deleteFrom("event_logs").where("application_id", "=", application.appid).execute();
    });
    await maintain(test.app);
    await waitUntil(async () => {
      await call("POST /checkins", { location: "1,2" }, user.token);
      return (await rowsOf(application.appid)).length > 0;
    });
  });

  it("records nothing without a reader", async () => {
    const application = await test.createApplication("Quiet");
    const user = await test.signUp("Quiet", application);
    await call("POST /checkins", { location: "1,2" }, user.token);
    assert.deepEqual(await rowsOf(application.appid), []);
    const reader = follow(user.token);
    await reader.next();
    await call("POST /checkins", { location: "1,2" }, user.token);
    assert.deepEqual(typesOf(await reader.next()), ["checkin.created"]);
  });

  it("records every write of another process after the first reader's answer", async () => {
    const other = await startTestApp({ DATABASE_URL: test.config.databaseUrl });
    try {
      const application = await test.createApplication();
      const cal = await test.signUp("Cal", application);
      const checkin = { token: cal.token, body: { location: "1,2" } };
      // Another process has just cached that the log has no reader.
      assert.equal((await other.call("POST /checkins", checkin)).status, 201);
      const first = await test.call("GET /events", { token: cal.token });
      assert.equal((await other.call("POST /checkins", checkin)).status, 201);
      const { currentToken } = first.body.result;
      const { body } = await test.call(`GET /events?after=${currentToken}`, { token: cal.token });
      assert.deepEqual(typesOf(body.result.pageResults), ["checkin.created"]);
    } finally {
      await other.close();
    }
  });

  it("resets a cursor that is older than the first event: spec/events#reset", async () => {
    const application = await test.createApplication("Old");
    const user = await test.signUp("Old", application);
    const { token } = user;
    const { currentToken: old } = await call("GET /events", undefined, token);
    await call("POST /checkins", { location: "1,2" }, token);
    const { currentToken: newer } = await call("GET /events", undefined, token);
    await call("POST /checkins", { location: "3,4" }, token);
    test.advance(8 * 86_400_000);
    try {
      await test.app.eventLog.maintain(application.appid);
      assert.deepEqual(await rowsOf(application.appid), []);
      for (const after of [old, newer]) {
        const { isReset, pageResults, currentToken } = await call(`GET /events?after=${after}`, undefined, token);
        assert.deepEqual([isReset, pageResults], [true, []]);
        await call("POST /checkins", { location: "5,6" }, token);
        const { pageResults: next } = await call(`GET /events?after=${currentToken}`, undefined, token);
        assert.deepEqual(typesOf(next), ["checkin.created"]);
      }
    } finally {
      test.advance(-8 * 86_400_000);
    }
  });

  it("resets a cursor of a newer log, as after the restore of a file", async () => {
    const application = await test.createApplication("Restored");
    const { token } = await test.signUp("Restored", application);
    await call("GET /events", undefined, token);
    for (let n = 0; n < 3; n += 1) await call("POST /checkins", { location: "1,2" }, token);
    const { currentToken } = await call("GET /events", undefined, token);
    await test.app.database.write(({ queries }) =>
      queries.deleteFrom("events").where("application_id", "=", application.appid).where("position", ">", 1).execute(),
    );
    assert.equal((await call(`GET /events?after=${currentToken}`, undefined, token)).isReset, true);
    for (let n = 0; n < 3; n += 1) await call("POST /checkins", { location: "1,2" }, token);
    assert.equal(
      (await call(`GET /events?after=${currentToken}`, undefined, token)).isReset,
      true,
      "another event is there",
    );
  });

  it("deletes the oldest events beyond EVENTS_ROWS_MAX: spec/events#retention", async () => {
    const { createEventLog } = await import("../event-log/event-log.ts");
    const application = await test.createApplication("Full");
    const { token } = await test.signUp("Full", application);
    const reader = follow(token);
    await reader.next();
    for (let n = 0; n < 5; n += 1) await call("POST /checkins", { location: "1,2" }, token);
    const small = createEventLog(
      { databaseTimeoutMs: 10_000, eventsRowsMax: 2, eventsBacklogMax: 1_000 },
      { ...test.app, secrets: ["a secret"] },
    );
    await small.maintain(application.appid);
    assert.deepEqual(
      (await rowsOf(application.appid)).map(({ position }) => Number(position)),
      [4, 5],
    );
  });

  it("shows a reader every event of sixteen writers once, and those of one object in order: spec/events#order", async () => {
    const { id } = await call("POST /checkins", { location: "1,2", readPermissions: "App", writePermissions: "App" });
    const reader = follow(ben.token, "&types=checkin.*");
    await reader.next();
    const seen: ReceivedEvent[] = [];
    let isOver = false;
    const following = (async () => {
      while (!isOver) seen.push(...(await reader.next()));
      seen.push(...(await reader.next()));
    })();
    const created: string[] = [];
    await Promise.all(
      Array.from({ length: 16 }, async (_, writer) => {
        for (let n = 0; n < 3; n += 1) {
          const made = await call("POST /checkins", { location: "1,2", readPermissions: "App" });
          created.push(made.id);
          await call(`PATCH /checkins/${id}`, { tag: `${writer} ${n}` }, writer % 2 === 0 ? ann.token : ben.token);
        }
      }),
    );
    isOver = true;
    await following;
    assert.equal(new Set(seen.map((event) => event.id)).size, seen.length, "none twice");
    const ofType = (type: string) => seen.filter((event) => event.type === type);
    assert.deepEqual(
      ofType("checkin.created")
        .map(({ objectID }) => objectID)
        .toSorted(),
      created.toSorted(),
    );
    assert.equal(ofType("checkin.changed").length, 48);
  });
});

async function rowsOf(applicationId: string) {
  return test.app.database.reads
    .selectFrom("events")
    .selectAll()
    .where("application_id", "=", applicationId)
    .orderBy("number")
    .execute()
    .then((rows) => [...rows]); // a plain array in place of the driver's
}

import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { startTestApp, type TestApp, type TestUser } from "../../test/harness.ts";
import { createEventLog } from "../event-log/event-log.ts";
import { createEventRecorder } from "../event-log/recorder.ts";
import { valuesMax } from "../metadata/metadata.contract.ts";

interface ReceivedEvent {
  readonly id: string;
  readonly type: string;
  readonly objectID: string;
  readonly changed?: readonly string[];
}

let test: TestApp;
let ann: TestUser;
before(async () => {
  test = await startTestApp({ RATE_LIMITS: "off" });
  ann = await test.signUp("Ann");
});
after(() => test.close());

async function call(operation: string, body?: object, token = ann.token) {
  const answer = await test.call(operation, { token, ...(body && { body }) });
  assert.ok(answer.status < 300, JSON.stringify(answer.body));
  return answer.body.result;
}

/** Creates a reader that continues from its last cursor, and fails if it is reset. */
function follow(token: string) {
  let cursor: string | undefined;
  return async (): Promise<ReceivedEvent[]> => {
    const events: ReceivedEvent[] = [];
    for (;;) {
      const after = cursor === undefined ? "" : `&after=${cursor}`;
      const result = await call(`GET /events?pageSize=1000${after}`, undefined, token);
      assert.equal(result.isReset, undefined);
      cursor = result.currentToken;
      events.push(...result.pageResults);
      if (result.nextToken === undefined) return events;
    }
  };
}

/** A transaction that changes a check-in and records it, with other work before and after. */
function changeSlowly(
  applicationId: string,
  id: string,
  { before: begin, after: end }: { before(): Promise<unknown>; after(): Promise<unknown> },
): Promise<void> {
  return test.app.database.write(async ({ queries }) => {
    await begin();
    await queries
      .updateTable("checkins")
      .set({ tag: "slow" })
      .where("application_id", "=", applicationId)
      .where("id", "=", id)
      .execute();
    const event = { type: "checkin.changed", objectId: id, userId: ann.id, changed: ["tag"], isShown: true } as const;
    await test.app.events.record(applicationId, event, queries);
    await end();
  });
}

const slowMs = 4_000;

describe("the event log under load and during failures: hostile.md 45, 48, 49, 50", () => {
  it("every event is read once and in the order of its object while sixteen writers run and a transaction stays open for four seconds", async () => {
    const { appid } = test.application;
    const slow = await call("POST /checkins", { location: "1,2" });
    const next = follow(ann.token);
    await next();
    const seen: ReceivedEvent[] = [];
    let isOver = false;
    const following = (async () => {
      while (!isOver) {
        seen.push(...(await next()));
        await sleep(5);
      }
      seen.push(...(await next()));
    })();
    const writers = Array.from({ length: 16 }, async () => {
      const made: string[] = [];
      for (let n = 0; n < 3; n += 1) {
        const { id } = await call("POST /checkins", { location: "1,2" });
        made.push(id);
        for (const tag of ["one", "two"]) await call(`PATCH /checkins/${id}`, { tag });
      }
      return made;
    });
    const open = changeSlowly(appid, slow.id, { before: async () => {}, after: () => sleep(slowMs) });
    const made = (await Promise.all(writers)).flat();
    await open;
    await call(`PATCH /checkins/${slow.id}`, { tag: "after" });
    isOver = true;
    await following;
    assert.equal(new Set(seen.map(({ id }) => id)).size, seen.length, "none twice");
    const typesOf = (object: string) => seen.filter(({ objectID }) => objectID === object).map(({ type }) => type);
    for (const id of made) assert.deepEqual(typesOf(id), ["checkin.created", "checkin.changed", "checkin.changed"]);
    assert.deepEqual(typesOf(slow.id), ["checkin.changed", "checkin.changed"]);
    assert.equal(seen.length, made.length * 3 + 2);
  });

  it("the first reader of an application misses no event of a transaction that has written nothing yet", async () => {
    const application = await test.createApplication("Quiet");
    const { appid } = application;
    const user = await test.signUp("Quiet", application);
    const { id } = await call("POST /checkins", { location: "1,2" }, user.token);
    const [begun, mayGoOn] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const open = test.app.database.write(async ({ queries }) => {
      await queries.selectFrom("checkins").select("id").where("application_id", "=", appid).execute();
      begun.resolve();
      await mayGoOn.promise;
      await queries
        .updateTable("checkins")
        .set({ tag: "late" })
        .where("application_id", "=", appid)
        .where("id", "=", id)
        .execute();
      const event = { type: "checkin.changed", objectId: id, userId: user.id, changed: ["tag"] } as const;
      await test.app.events.record(appid, event, queries);
    });
    await begun.promise;
    const next = follow(user.token);
    const first = next();
    // With a single writer the reader waits for the transaction; otherwise it may be answered before or after it.
    await Promise.race([first, sleep(1_000)]);
    mayGoOn.resolve();
    await Promise.all([open, first]);
    const received = (await next()).map(({ type }) => type);
    const { tag } = await call(`GET /checkins/${id}`, undefined, user.token);
    assert.equal(tag, "late");
    if (test.app.database.dialect.hasRowLocks) assert.deepEqual(received, ["checkin.changed"]);
    else assert.deepEqual(received, [], "the transaction was over before the answer");
  });

  it("a transaction that fails records none of its thousand events", async () => {
    const next = follow(ann.token);
    await next();
    const values = (set: number) =>
      Object.fromEntries(Array.from({ length: valuesMax }, (_, n) => [`k${set}-${n}`, n]));
    const puts = Array.from({ length: 10 }, (_, set) => ({
      ...{ method: "PUT", path: "/metadata/me" },
      parameters: { values: values(set) },
    }));
    const missing = { method: "GET", path: "/checkins/nothing" };
    const failed = await test.call("POST /batch", {
      token: ann.token,
      body: { mode: "atomic", requests: [...puts, missing] },
    });
    assert.notEqual(failed.body.result?.responses?.[0]?.success, true, JSON.stringify(failed.body).slice(0, 300));
    assert.deepEqual(await next(), []);
    await call("POST /batch", { mode: "atomic", requests: puts });
    assert.equal((await next()).length, 10 * valuesMax);
  });

  it("positions increase, and no event is dropped or reset, when the clock steps back by an hour", async () => {
    const { appid } = test.application;
    const next = follow(ann.token);
    await next();
    const first = await call("POST /checkins", { location: "1,2" });
    test.advance(-3_600_000);
    try {
      const second = await call("POST /checkins", { location: "1,2" });
      await test.app.eventLog.maintain(appid);
      assert.deepEqual(
        (await next()).map(({ objectID }) => objectID),
        [first.id, second.id],
      );
      const { position } = await test.app.eventLog.findEnd(appid);
      const rows = await test.app.eventLog.list(appid, position - 2, 10);
      assert.deepEqual(
        rows.map(({ object_id, position: at }) => [object_id, at]),
        [
          [first.id, position - 1],
          [second.id, position],
        ],
      );
      assert.ok(Number(rows[1]?.at) >= Number(rows[0]?.at), "the time of a process does not go back");
    } finally {
      test.advance(3_600_000);
    }
    await test.app.eventLog.maintain(appid);
    await call("POST /checkins", { location: "1,2" });
    assert.equal((await next()).length, 1);
  });
});

describe("the backlog of events: spec/events#backlog", () => {
  const waitingIn = async (appid: string) => {
    const rows = await test.app.database.reads
      .selectFrom("events")
      .select("id")
      .where("application_id", "=", appid)
      .where("position", "is", null)
      .execute();
    return rows.length;
  };

  async function withBacklog(eventsBacklogMax: number) {
    const application = await test.createApplication("Backlog");
    const { appid } = application;
    const user = await test.signUp("Backlog", application);
    const cursor: string = (await call("GET /events", undefined, user.token)).currentToken;
    // Like a process that stops before it assigns positions.
    const killed = createEventRecorder(test.app);
    for (let n = 0; n < 4; n += 1) {
      const event = { type: "user.changed", objectId: user.id, userId: user.id } as const;
      await test.app.database.write(({ queries }) => killed.record(appid, event, queries));
    }
    const log = createEventLog(
      { databaseTimeoutMs: 10_000, eventsRowsMax: 1_000, eventsBacklogMax },
      { ...test.app, secrets: ["a secret"] },
    );
    return { appid, user, cursor, log };
  }

  it("maintenance assigns positions to events of a process that has stopped", async () => {
    const { appid, user, cursor, log } = await withBacklog(1_000);
    const isWaiting = test.app.database.dialect.hasRowLocks;
    assert.equal(await waitingIn(appid), isWaiting ? 4 : 0);
    assert.equal(await log.maintain(appid), 0);
    assert.equal(log.backlog().rows, isWaiting ? 4 : 0, "as it was before");
    assert.equal(await waitingIn(appid), 0);
    await log.maintain(appid);
    assert.deepEqual(log.backlog(), { rows: 0, oldestAt: undefined });
    const { pageResults } = await call(`GET /events?after=${cursor}`, undefined, user.token);
    assert.equal(pageResults.length, 4);
  });

  it("the log stops beyond EVENTS_BACKLOG_MAX: its cursors are reset, and writes continue", async (t) => {
    if (!test.app.database.dialect.hasRowLocks) return t.skip("events have positions at once");
    const { appid, user, cursor, log } = await withBacklog(3);
    assert.equal(await log.maintain(appid), 4);
    assert.equal((await call(`GET /events?after=${cursor}`, undefined, user.token)).isReset, true);
    const next = follow(user.token);
    await next();
    const { id } = await call("POST /checkins", { location: "1,2" }, user.token);
    assert.deepEqual(
      (await next()).map(({ objectID }) => objectID),
      [id],
    );
  });
});

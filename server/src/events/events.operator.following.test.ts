import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { startTestApp, type TestApp, type TestOperator, type TestUser } from "../../test/harness.ts";
import type { NewApplication } from "../applications/applications.store.ts";
import { createEventLog } from "../event-log/event-log.ts";

let test: TestApp;
let viewer: TestOperator;
before(async () => {
  test = await startTestApp({ RATE_LIMITS: "off" });
  viewer = await test.createOperator("viewer", "viewer");
});
after(() => test.close());

interface Followed {
  readonly application: NewApplication;
  readonly user: TestUser;
  /** @param query after `/events` */
  ask(query: string, operator?: TestOperator): ReturnType<TestApp["call"]>;
}

async function followed(name: string): Promise<Followed> {
  const application = await test.createApplication(name);
  const user = await test.signUp(undefined, application);
  const path = `GET /_/api/applications/${application.appid}/events`;
  return { application, user, ask: (query, { token } = viewer) => test.call(`${path}${query}`, { token }) };
}

async function checkIn({ user }: Followed, tag: string): Promise<void> {
  const body = { location: "1,2", tag };
  assert.equal((await test.call("POST /checkins", { token: user.token, body })).status, 201);
}

const tagsOf = ({ body }: Awaited<ReturnType<TestApp["call"]>>) =>
  body.result.pageResults.map(({ object }: { object: { tag: string } }) => object.tag);

// spec/events#follow-the-log
describe("operators who follow the log", () => {
  it("read it forwards from a cursor, oldest first and filtered, and start the recording", async () => {
    const one = await followed("Forwards");
    const begun = await one.ask("?after=end");
    assert.deepEqual(begun.body.result.pageResults, []);
    for (const tag of ["1", "2", "3"]) await checkIn(one, tag);
    await test.call("PATCH /users/me", { token: one.user.token, body: { firstName: "J" } });
    const { currentToken } = begun.body.result;
    const first = await one.ask(`?type=checkin.*&pageSize=2&after=${currentToken}`);
    assert.deepEqual(tagsOf(first), ["1", "2"]);
    assert.equal(first.body.result.nextToken, first.body.result.currentToken);
    assert.match(first.body.result.pageResults[0].sequence, /^\d{20}$/);
    const second = await one.ask(`?type=checkin.*&pageSize=2&after=${first.body.result.nextToken}`);
    assert.deepEqual(tagsOf(second), ["3"]);
    assert.equal(second.body.result.nextToken, undefined);
    const all = await one.ask("?after=start");
    assert.equal(all.body.result.pageResults.at(-1).type, "user.changed");
    assert.deepEqual((await one.ask(`?after=${all.body.result.currentToken}`)).body.result.pageResults, []);
  });

  it("wait for an event, but not beyond their session", async () => {
    const one = await followed("Waiting");
    const { currentToken } = (await one.ask("?after=end")).body.result;
    const path = `?waitSeconds=25&after=${currentToken}`;
    const [waiting, other] = [one.ask(path), await test.createOperator("other", "viewer")];
    while (test.app.streams.statistics().waiting < 1) await sleep(10);
    await checkIn(one, "found");
    assert.deepEqual(tagsOf(await waiting), ["found"]);
    const { currentToken: next } = (await one.ask("?after=end")).body.result;
    const ending = one.ask(`?waitSeconds=25&after=${next}`, other);
    while (test.app.streams.statistics().waiting < 1) await sleep(10);
    assert.equal((await test.call("DELETE /_/api/sessions/current", { token: other.token })).status, 200);
    assert.deepEqual([(await ending).status, (await ending).body.error], [401, "AuthFailed"]);
    assert.equal(test.app.streams.statistics().waiting, 0);
  });

  it("receive a reset when events are missing, and continue with the oldest stored event", async () => {
    const one = await followed("Gap");
    const { currentToken } = (await one.ask("?after=end")).body.result;
    for (const tag of ["1", "2", "3", "4"]) await checkIn(one, tag);
    const small = createEventLog(
      { databaseTimeoutMs: 10_000, eventsRowsMax: 2, eventsBacklogMax: 1_000 },
      { ...test.app, secrets: ["a secret"] },
    );
    await small.maintain(one.application.appid); // assigns positions; the next run deletes the oldest events
    await small.maintain(one.application.appid);
    const { body } = await one.ask(`?after=${currentToken}`);
    assert.deepEqual([body.result.isReset, body.result.pageResults], [true, []]);
    assert.deepEqual(tagsOf(await one.ask(`?after=${body.result.currentToken}`)), ["3", "4"]);
  });

  it("are refused with a forged cursor, with another application's cursor, or with a wait but no cursor", async () => {
    const [one, other] = [await followed("One"), await followed("Other")];
    const foreign = (await other.ask("?after=end")).body.result.currentToken;
    for (const after of [foreign, "x", "5;0"]) {
      assert.equal((await one.ask(`?after=${after}`)).body.error, "ParameterIncorrectFormat");
    }
    assert.equal((await one.ask("?waitSeconds=5")).body.error, "ParameterMissingRequiredValue");
    assert.equal((await one.ask("?waitSeconds=26&after=end")).body.error, "ParameterOutOfRange");
    for (const pageSize of [0, 100_000]) {
      assert.equal((await one.ask(`?waitSeconds=1&after=end&pageSize=${pageSize}`)).body.error, "ParameterOutOfRange");
    }
  });
});

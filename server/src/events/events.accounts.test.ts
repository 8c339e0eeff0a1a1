import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { startTestApp, type TestApp, type TestOperator, type TestUser } from "../../test/harness.ts";
import { codeIn, mailsTo, waitUntil } from "../../test/mails.ts";
import { eventTypes, isForClients } from "../event-log/event-types.ts";
import type { PlacedEvent } from "../event-log/log-rows.store.ts";
import { isRevocation } from "../event-log/revocations.ts";
import { createOperatorPresenter } from "./events.operator.reading.ts";

let test: TestApp;
let root: string;
let operator: TestOperator;
let ann: TestUser;
let ben: TestUser;
before(async () => {
  test = await startTestApp({ RATE_LIMITS: "off" });
  root = `/_/api/applications/${test.application.appid}`;
  operator = await test.createOperator();
  [ann, ben] = [await test.signUp("Ann"), await test.signUp("Ben")];
  await endOfLog();
});
after(() => test.close());

async function call(operation: string, token: string, body?: object) {
  const answer = await test.call(operation, { token, ...(body && { body }) });
  assert.ok(answer.status < 300, `${operation}: ${JSON.stringify(answer.body)}`);
  return answer.body.result;
}

async function endOfLog(): Promise<number> {
  return (await test.app.eventLog.findEnd(test.application.appid)).position;
}

/** Returns the rows that `work` writes, events and revocations. */
async function rowsOf(work: () => Promise<unknown>): Promise<readonly PlacedEvent[]> {
  const { appid } = test.application;
  const before = await endOfLog();
  await work();
  await endOfLog();
  return test.app.eventLog.list(appid, before, 1_000);
}

/** Returns the events of `work` that a reader receives. */
async function seenBy(token: string, work: () => Promise<unknown>) {
  const { currentToken } = await call("GET /events", token);
  await work();
  const { pageResults } = await call(`GET /events?after=${currentToken}`, token);
  return pageResults as { type: string; objectID: string; key?: string; object?: unknown; changed?: string[] }[];
}

/** Presents rows to an operator. */
async function shownToOperators(rows: readonly PlacedEvent[], locations: "true" | "shown" = "true") {
  const present = createOperatorPresenter({ locations }, test.app);
  const shown = await Promise.all(rows.map(present));
  return shown.filter((each) => each !== undefined);
}

function typesOf(rows: readonly { readonly type: string }[]): string[] {
  return rows.map(({ type }) => type);
}

describe("events of accounts and devices: spec/events#types", () => {
  const login = () => test.call("POST /users/login", { token: ben.deviceToken, body: credentialsOf(ann) });
  const credentialsOf = ({ userName, password }: TestUser) => ({ username: userName, password });

  it("only the user of an account receives its sign-ins, sign-outs and identities", async () => {
    const work = async () => {
      const { accessToken } = (await login()).body.result;
      await call("POST /users/me/logout", accessToken);
      const { accessToken: next } = (await login()).body.result;
      const { pageResults: tokens } = await call("GET /users/me/tokens", next);
      const { id } = tokens.find((token: { isCurrent?: boolean }) => token.isCurrent !== true);
      await call("POST /users/me/identities/crm", next, { identityId: "7" });
      await call("DELETE /users/me/identities/crm/7", next);
      await call("DELETE /users/me/identities/crm/7", next); // it does not exist
      assert.equal(typeof id, "string");
      await call("POST /users/me/logout", next);
    };
    const [own, others] = await Promise.all([seenBy(ann.token, work), seenBy(ben.token, async () => {})]);
    const expected = [
      ...["user.signed_in", "user.signed_out", "user.signed_in"],
      ...["identity.added", "identity.removed", "user.signed_out"],
    ];
    assert.deepEqual(typesOf(own), expected);
    assert.deepEqual(typesOf(others), []);
    for (const { objectID, object } of own) assert.deepEqual([objectID, object], [ann.id, undefined]);
    assert.equal(own[3]?.key, "crm");
  });

  it("only the user of an account receives a verified address, as a change", async () => {
    const email = "ann@example.com";
    await call("POST /users/me/email", ann.token, { email });
    await waitUntil(() => test.app.background.runningCount === 0);
    const verifyCode = codeIn(mailsTo(test, email).at(-1));
    const work = () => call("PATCH /users/me/email", ann.token, { verifyCode });
    const [own, others] = await Promise.all([seenBy(ann.token, work), seenBy(ben.token, async () => {})]);
    assert.deepEqual(
      own.map(({ type, changed }) => [type, changed]),
      [["user.changed", ["email", "emailVerified"]]],
    );
    assert.deepEqual(others, []);
  });

  it("a device receives its registration, and the revocation of its tokens after it registers again", async () => {
    const { currentToken } = await call("GET /events", ann.token);
    const body = { ...test.application, platform: "test", uniqueId: "phone-1" };
    const token = (await test.call("POST /devices", { body })).body.result.accessToken;
    const { id } = await call("GET /devices/current", token);
    const registered = (await call(`GET /events?after=${currentToken}`, token)).pageResults;
    assert.deepEqual(typesOf(registered), ["device.registered"]);
    assert.equal(registered[0].object.id, id);
    await call(`POST ${root}/devices/${id}/revoke-tokens`, operator.token, {});
    const again = (await test.call("POST /devices", { body })).body.result.accessToken;
    const { pageResults } = await call(`GET /events?after=${currentToken}`, again);
    assert.deepEqual(typesOf(pageResults), ["device.registered", "device.revoked"], "one registration is new");
    assert.deepEqual((await call(`GET /events?after=${currentToken}`, ben.token)).pageResults, []);
  });

  it("no client receives operators' events, and a request for them is refused", async () => {
    const work = async () => {
      const { id } = await call(`POST ${root}/users`, operator.token, { username: "Cal", password: "correct horse" });
      await call(`POST ${root}/users/${id}/disable`, operator.token, {});
      await call(`POST ${root}/users/${id}/enable`, operator.token, {});
      await call("POST /users", ben.deviceToken, { username: "Dora", password: "correct horse" });
      await call(`PATCH ${root}/settings`, operator.token, { debug: true });
    };
    assert.deepEqual(await seenBy(ben.token, work), []);
    const hidden = eventTypes.filter((type) => !isForClients(type));
    assert.ok(hidden.length > 0);
    for (const types of [...hidden, "application.*", "revocation.user", "revocation.*"]) {
      const { status } = await test.call(`GET /events?types=${types}`, { token: ben.token });
      assert.equal(status, 400, types);
    }
  });
});

describe("the rows of a log: spec/events#operators-view", () => {
  it("name the actor: a user, a device or an operator", async () => {
    const rows = await rowsOf(async () => {
      await call("POST /checkins", ann.token, { location: "1,2" });
      await call("POST /batch", ann.token, {
        mode: "atomic",
        requests: [{ method: "POST", path: "/checkins", parameters: { location: "3,4" } }],
      });
      await call("PATCH /devices/current", ann.deviceToken, { tag: "mine" });
      await call(`PATCH ${root}/users/${ann.id}`, operator.token, { firstName: "Anna" });
      await Promise.all([
        call("POST /checkins", ann.token, { location: "5,6" }),
        call("POST /checkins", ben.token, { location: "5,6" }),
      ]);
    });
    const shown = await shownToOperators(rows);
    const device = await call("GET /devices/current", ann.deviceToken);
    assert.deepEqual(
      shown.slice(0, 4).map(({ type, actor }) => [type, actor]),
      [
        ["checkin.created", { kind: "user", id: ann.id }],
        ["checkin.created", { kind: "user", id: ann.id }],
        ["device.changed", { kind: "device", id: device.id }],
        ["user.changed", { kind: "operator", id: operator.id }],
      ],
    );
    assert.deepEqual(
      shown.slice(4).map(({ userID, actor }) => actor?.id === userID),
      [true, true],
      "writes that are committed together keep their actors",
    );
  });

  it("contain every event for an operator, with the result of an operator's GET as the object", async () => {
    let id = "";
    const rows = await rowsOf(async () => {
      ({ id } = await call("POST /checkins", ann.token, { location: "1,2", comment: "private" }));
      await call("PUT /metadata/me/note", ann.token, { value: { big: 1, text: "mine" } });
    });
    const [checkin, note] = await shownToOperators(rows);
    assert.deepEqual(JSON.parse(checkin?.object ?? ""), await call(`GET ${root}/checkins/${id}`, operator.token));
    assert.match(checkin?.sequence ?? "", /^\d{20}$/);
    assert.deepEqual([note?.key, note?.visibility], ["note", "User"]);
    const items = await call(`GET ${root}/metadata/${ann.id}?key=note`, operator.token);
    assert.deepEqual(JSON.parse(note?.object ?? ""), items.pageResults[0]);
  });

  it("contain the locations that other users see, and never the location of a user or device", async () => {
    const cleo = await test.signUp("Cleo");
    await call("PATCH /users/me", cleo.token, { locationFuzzing: true });
    const rows = await rowsOf(async () => {
      await call("POST /checkins", cleo.token, { location: "48.2082,16.3738", readPermissions: "App" });
      await call("PATCH /users/me", cleo.token, { location: "48.2082,16.3738" });
      await call("PUT /metadata/me/spot", cleo.token, { value: 1, location: "48.2082,16.3738" });
      await call("POST /checkins", ann.token, { location: "48.2082,16.3738" });
    });
    const [checkin, user, spot, open] = await shownToOperators(rows, "shown");
    const readable = JSON.parse(checkin?.object ?? "");
    const others = await call(`GET /checkins/${readable.id}`, ben.token);
    assert.deepEqual([readable.location, readable.isShifted], [others.location, true]);
    assert.equal(JSON.parse(`${user?.object}`).location, undefined);
    // Not the same digits, because a shift straight east keeps the latitude.
    for (const each of [checkin, user, spot]) assert.doesNotMatch(`${each?.object}`, /48\.2082(?:0{5}|(?!\d))/);
    const { location, isShifted } = JSON.parse(open?.object ?? "");
    assert.deepEqual([location, isShifted], [{ lat: 48.2082, lng: 16.3738 }, undefined]);
  });

  it("report that an object is deleted", async () => {
    const rows = await rowsOf(async () => {
      const { id } = await call("POST /checkins", ann.token, { location: "1,2" });
      await call(`DELETE /checkins/${id}`, ann.token);
    });
    const [created, deleted] = await shownToOperators(rows);
    assert.deepEqual([created?.isGone, created?.object], [true, undefined]);
    assert.deepEqual([deleted?.type, deleted?.isGone], ["checkin.deleted", undefined]);
  });

  it("name the changed settings, and have no object for a change of keys", async () => {
    const rows = await rowsOf(async () => {
      await call(`PATCH ${root}/settings`, operator.token, { debug: false, rehearsal: "on" });
      await call(`POST ${root}/keys`, operator.token, {});
    });
    const shown = await shownToOperators(rows);
    assert.deepEqual(
      shown.map(({ type, changed, objectID }) => [type, changed, objectID]),
      [
        ["application.settings_changed", ["debug", "rehearsal"], undefined],
        ["application.keys_changed", [], undefined],
      ],
    );
  });
});

describe("revocations in the log: spec/events#revocations", () => {
  it("every revocation of tokens is a row that neither clients nor operators see", async () => {
    const { appid } = test.application;
    const user = await test.signUp("Eve");
    const from = await endOfLog();
    const { currentToken } = await call("GET /events", ann.token);
    await call("PATCH /users/me", user.token, { password: "another horse", currentPassword: user.password });
    await call("POST /users/me/logout", user.token);
    await call(`POST ${root}/users/${user.id}/revoke-tokens`, operator.token, {});
    const { id } = await call("GET /devices/current", user.deviceToken);
    await call(`POST ${root}/devices/${id}/revoke-tokens`, operator.token, {});
    const unplaced = await test.app.eventLog.listRevocations(appid, from);
    const named = unplaced.map(({ kind }) => kind).toSorted();
    assert.deepEqual(named, ["device", "token", "user", "user"]);
    await endOfLog();
    const revocations = await test.app.eventLog.listRevocations(appid, from);
    const sorted = revocations.toSorted((a, b) => Number(a.position) - Number(b.position));
    assert.deepEqual(
      sorted.map(({ kind, id: of, exceptTokenId }) => [kind, of, exceptTokenId !== undefined]),
      [
        ["user", user.id, true],
        ["token", sorted[0]?.exceptTokenId, false],
        ["user", user.id, false],
        ["device", id, false],
      ],
    );
    assert.deepEqual(await test.app.eventLog.listRevocations(appid, await endOfLog()), []);
    const rows = await test.app.eventLog.list(appid, from, 100);
    assert.equal(rows.filter(isRevocation).length, 4);
    const shown = JSON.stringify(await shownToOperators(rows));
    const { pageResults } = await call(`GET /events?after=${currentToken}`, ann.token);
    assert.ok(!`${shown}${JSON.stringify(pageResults)}`.includes("revocation"));
  });
});

describe("operators' events: spec/events#operators-events", () => {
  const list = async (query = "") => call(`GET ${root}/events?${query}`, viewer.token);
  let viewer: TestOperator;
  before(async () => {
    viewer = await test.createOperator(undefined, "viewer");
  });

  it("are listed newest first, with filters by type, object, owner and time, and pages in both directions", async () => {
    test.advance(1_000);
    const from = test.now();
    const made: string[] = [];
    for (let n = 0; n < 3; n += 1) made.push((await call("POST /checkins", ann.token, { location: "1,2" })).id);
    await call("PATCH /users/me", ben.token, { firstName: "Benjamin" });
    test.advance(1_000);
    const last = await call("POST /locations", ben.token, { name: "Place", location: "1,2" });
    const ids = async (query: string) =>
      (await list(query)).pageResults.map(({ objectID }: { objectID: string }) => objectID);
    const since = `created=${from}-${test.now() + 1}`;
    assert.deepEqual(await ids(since), [last.id, ben.id, ...made.toReversed()]);
    assert.deepEqual(await ids(`${since}&type=checkin.*`), made.toReversed());
    assert.deepEqual(await ids(`${since}&userID=${ben.id}`), [last.id, ben.id]);
    assert.deepEqual(await ids(`${since}&objectID=${made[1]}`), [made[1]]);
    assert.deepEqual(await ids(`created=${from}-${test.now() - 1}&type=location.created`), []);
    const first = await list(`${since}&pageSize=2`);
    const second = await list(`pagingToken=${first.nextToken}`);
    const back = await list(`pagingToken=${second.previousToken}`);
    const both = [...first.pageResults, ...second.pageResults];
    assert.deepEqual(
      both.map(({ objectID }: { objectID: string }) => objectID),
      [last.id, ben.id, ...made.toReversed().slice(0, 2)],
    );
    assert.deepEqual(back.pageResults, first.pageResults);
    const { sequence } = first.pageResults[0];
    assert.deepEqual(await call(`GET ${root}/events/${sequence}`, viewer.token), first.pageResults[0]);
    assert.equal(first.pageResults[0].object.id, last.id);
  });

  it("are refused for an invalid pattern, and are not found for revocations and unknown positions", async () => {
    const { status, body } = await test.call(`GET ${root}/events?type=chekin.*`, { token: viewer.token });
    assert.deepEqual([status, body.error], [400, "ParameterIncorrectFormat"]);
    const rows = await rowsOf(() => call(`POST ${root}/users/${ben.id}/revoke-tokens`, operator.token, {}));
    const revocation = rows.find(isRevocation);
    for (const sequence of [revocation?.position, 999_999]) {
      const answer = await test.call(`GET ${root}/events/${sequence}`, { token: viewer.token });
      assert.deepEqual([answer.status, answer.body.error], [404, "ItemDoesNotExist"]);
    }
    const { accessToken } = (
      await test.call("POST /users/login", {
        token: ben.deviceToken,
        body: { username: ben.userName, password: ben.password },
      })
    ).body.result;
    ben = { ...ben, token: accessToken };
  });

  it("are read in parts from a long log, each with a token for the next part", async () => {
    const application = await test.createApplication("Long");
    const user = await test.signUp("Long", application);
    const { appid } = application;
    await call("GET /events", user.token);
    await call("POST /checkins", user.token, { location: "1,2" });
    await test.app.eventLog.findEnd(appid);
    const [sample] = await test.app.eventLog.list(appid, 0, 1);
    assert.ok(sample);
    const count = 12_000;
    for (let n = 0; n < count; n += 500) {
      const rows = Array.from({ length: 500 }, (_, i) => {
        const number = sample.number + 1_000_000 + n + i;
        return {
          ...sample,
          id: `evt_${number}`,
          number,
          position: sample.position + 1 + n + i,
          type: "device.changed",
        };
      });
      await test.app.database.write(({ queries }) => queries.insertInto("events").values(rows).execute());
    }
    const path = `/_/api/applications/${appid}/events`;
    let page = await call(`GET ${path}?type=checkin.created`, viewer.token);
    assert.deepEqual(page.pageResults, []);
    let pages = 1;
    for (; page.pageResults.length === 0; pages += 1) {
      assert.notEqual(page.nextToken, undefined);
      page = await call(`GET ${path}?pagingToken=${page.nextToken}`, viewer.token);
    }
    assert.equal(page.pageResults[0].id, sample.id);
    assert.ok(pages > 1);
  });

  it("are an empty list until a reader starts the log", async () => {
    const { appid } = await test.createApplication("Silent");
    const { pageResults } = await call(`GET /_/api/applications/${appid}/events`, viewer.token);
    assert.deepEqual(pageResults, []);
    const heads = await test.app.database.reads
      .selectFrom("event_logs")
      .select("name")
      .where("application_id", "=", appid)
      .execute();
    assert.equal(heads.length, 0);
  });
});

import assert from "node:assert/strict";
import { after, before, beforeEach, describe, it } from "node:test";
import {
  type Answer,
  assertError,
  assertResult,
  startTestApp,
  type TestApp,
  type TestOperator,
  type TestUser,
} from "../../test/harness.ts";
import { maintain } from "../app/maintenance.ts";
import type { AuditRow } from "../db/tables.ts";
import { newAuditRow } from "./audit.events.ts";
import { insertAuditRows } from "./audit.store.ts";

let test: TestApp;
let owner: TestOperator;
before(async () => {
  test = await startTestApp();
});
after(() => test.close());
beforeEach(async () => {
  owner = await test.createOperator();
});

const dayMs = 86_400_000;

function call(operation: string, body?: object, { token } = owner): Promise<Answer> {
  return test.call(operation, { token, ...(body && { body }) });
}

/** The matching entries of the log, newest first. */
// biome-ignore lint/suspicious/noExplicitAny: entries as they come, to be compared whole
async function entries(query: string): Promise<any[]> {
  const { status, body } = await call(`GET /_/api/audit?${query}`);
  assert.equal(status, 200, JSON.stringify(body));
  return body.result.pageResults;
}

/** One entry without its id. */
async function onlyEntry(query: string): Promise<Record<string, unknown>> {
  const found = await entries(query);
  assert.equal(found.length, 1, JSON.stringify(found));
  const { id, ...rest } = found[0];
  assert.match(id, /^aud_[0-9a-z]{26}$/);
  return rest;
}

function storedRows(app = test): Promise<AuditRow[]> {
  return app.app.database.reads.selectFrom("audit_log").selectAll().orderBy("at").orderBy("id").execute();
}

function asActor({ id, name }: TestOperator) {
  return { kind: "operator", id, name };
}

/** The last fields of an entry, as given by the answer that it belongs to. */
function from({ body }: Answer) {
  return { address: "127.0.0.1", requestId: body.request_id };
}

// spec/operators#audit-entries
describe("changes by operators", () => {
  it("are logged with actor, action, target, time, address and request, and without secrets or names of others", async () => {
    const at = `/Date(${test.now()})/`;
    const created = await call("POST /_/api/operators", { name: "Secret name", role: "editor" });
    const { id, password } = created.body.result;
    const changed = await call(`PATCH /_/api/operators/${id}`, { role: "viewer", password: "a new password" });
    const deleted = await call(`DELETE /_/api/operators/${id}`);
    const [third, second, first] = await entries(`target=${id}`);
    const same = { at, actor: asActor(owner), target: id };
    const role = { from: "editor", to: "viewer" };
    const roleChanged = { role: "viewer", password: "given", changes: { role } };
    assert.deepEqual(
      [first, second, third].map(({ id: _, ...entry }) => entry),
      [
        { ...same, action: "createOperator", ...from(created), details: { name: "given", role: "editor" } },
        { ...same, action: "changeOperator", ...from(changed), details: roleChanged },
        { ...same, action: "deleteOperator", ...from(deleted), details: {} },
      ],
    );
    const text = JSON.stringify(await storedRows());
    for (const secret of ["Secret name", password, "a new password", owner.token]) assert.ok(!text.includes(secret));
  });

  it("include the start and end of every session", async () => {
    const { name, password, id } = owner;
    const signedIn = await test.call("POST /_/api/sessions", { body: { name, password } });
    const { token } = signedIn.body.result;
    await test.call("DELETE /_/api/sessions/current", { token });
    const [ended, begun] = await entries(`actor=${id}`);
    assert.deepEqual([begun.action, begun.target, begun.actor], ["createOperatorSession", id, asActor(owner)]);
    assert.deepEqual([ended.action, ended.actor], ["deleteOperatorSession", asActor(owner)]);
  });

  it("have the name that the operator had at that time", async () => {
    const [operator, target] = [await test.createOperator("Before"), await test.createOperator()];
    await call(`PATCH /_/api/operators/${target.id}`, { role: "viewer" }, operator);
    await call(`PATCH /_/api/operators/${operator.id}`, { name: "Afterwards" });
    const { actor } = await onlyEntry(`actor=${operator.id}`);
    assert.deepEqual(actor, { kind: "operator", id: operator.id, name: "Before" });
  });

  it("are not logged when they fail, and reads are never logged", async () => {
    await call("POST /_/api/operators", { name: owner.name, role: "viewer" }); // taken
    await call(`DELETE /_/api/operators/${test.app.ids.newId("Operator")}`);
    await call("POST /_/api/operators", { name: "x" });
    await call("GET /_/api/operators");
    await call("GET /_/api/applications");
    assert.deepEqual(await entries(`actor=${owner.id}`), []);
  });

  it("commit together with their entry: if the entry cannot be written, the change is rolled back", async (t) => {
    const app = await startTestApp();
    t.after(() => app.close());
    const { token } = await app.createOperator();
    const { audit, database } = app.app;
    const broken = t.mock.method(audit, "record", () => Promise.reject(new Error("on purpose")));
    const body = { name: "Never", role: "viewer" };
    await assert.rejects(app.call("POST /_/api/operators", { token, body }), /answered 500/);
    broken.mock.restore();
    const operators = await database.reads.selectFrom("operators").select("name").execute();
    assert.ok(!operators.some(({ name }) => name === "Never"));
    assert.equal((await app.call("POST /_/api/operators", { token, body })).status, 201);
  });
});

// spec/operators#changes-in-the-audit-log
describe("values before and after a change", () => {
  // biome-ignore lint/suspicious/noExplicitAny: details as they come, to be compared whole
  async function changesOf(answer: Answer): Promise<any> {
    assert.equal(answer.status, 200, answer.text);
    const [entry] = await entries(`requestId=${answer.body.request_id}`);
    return entry.details.changes;
  }

  it("are in the entry of renamed applications and keys, operators, crashes and the privacy of users", async () => {
    const { appid } = await test.createApplication();
    const application = `/_/api/applications/${appid}`;
    const [name] = [(await call(`GET ${application}`)).body.result.name];
    assert.deepEqual(await changesOf(await call(`PATCH ${application}`, { name: "After" })), {
      name: { from: name, to: "After" },
    });
    assert.equal(await changesOf(await call(`PATCH ${application}`, { name: "After" })), undefined, "nothing changed");
    const { id: keyId } = (await call(`GET ${application}/keys`)).body.result.pageResults[0];
    const labelled = await call(`PATCH ${application}/keys/${keyId}`, { label: "Version 1" });
    assert.deepEqual(await changesOf(labelled), { label: { to: "Version 1" } });
    const { id } = await test.createOperator("Old name", "editor");
    const renamed = await call(`PATCH /_/api/operators/${id}`, { name: "New name", role: "editor" });
    assert.deepEqual(await changesOf(renamed), { name: { from: "Old name", to: "New name" } });

    const token = await test.registerDevice();
    await test.call("POST /devices/current/crashreports", { token, body: { stackTrace: "Error: audited" } });
    const of = `/_/api/applications/${test.application.appid}`;
    const { fingerprint } = (await call(`GET ${of}/crashes`)).body.result.pageResults[0];
    const resolved = { state: "resolved", resolvedIn: "2.0", note: "found by Jane" };
    assert.deepEqual(await changesOf(await call(`PATCH ${of}/crashes/${fingerprint}`, resolved)), {
      ...{ state: { from: "open", to: "resolved" }, resolvedIn: { to: "2.0" } },
    });

    const jane = await test.signUp();
    const edit = { email: "jane@example.org", firstName: "Secret", celebMode: true };
    const edited = await call(`PATCH ${of}/users/${jane.id}`, edit);
    const celebMode = { from: false, to: true };
    assert.deepEqual(await changesOf(edited), { email: { to: "j…@example.org" }, celebMode });
    const moved = await call(`PATCH ${of}/users/${jane.id}`, { email: "jill@example.org" });
    assert.deepEqual(await changesOf(moved), { email: { from: "j…@example.org", to: "j…@example.org" } });
    const text = JSON.stringify(await storedRows());
    for (const secret of ["jane@example.org", "jill@", "Secret", "found by Jane"]) assert.ok(!text.includes(secret));
  });

  it("are in the entry of settings, by member, up to 4 KB and without the password of a mail server", async () => {
    const { appid } = await test.createApplication();
    const path = `/_/api/applications/${appid}/settings`;
    const oidc = { error: { issuer: "https://id.example", audience: "x", jwksUrl: "https://id.example/keys" } };
    const mail = { from: "a@example.org", smtpUrl: "smtps://me:Pass-12345@mail.example" };
    const set = await call(`PATCH ${path}`, { oidc, mail, debug: true, origins: ["https://a.example"] });
    const changes = await changesOf(set);
    assert.deepEqual(
      [changes.debug, changes.origins, JSON.parse(changes.oidc.to), JSON.parse(changes.mail.to)],
      [{ to: true }, { to: '["https://a.example"]' }, oidc, { ...mail, smtpUrl: "smtps://me@mail.example" }],
    );
    assert.deepEqual(await entries(`appid=${appid}&refused=true`), [], "a provider named error is no refusal");
    const put = await call(`PUT ${path}`, { debug: false, origins: ["https://a.example"] });
    const put2 = await changesOf(put);
    assert.deepEqual([put2.debug, put2.origins, put2.oidc.to], [{ from: true, to: false }, undefined, "{}"]);
    assert.ok(!JSON.stringify(await storedRows()).includes("Pass-12345"));

    const many = Array.from({ length: 100 }, (_, n) => `https://${"a".repeat(50)}${n}.example`);
    const [long] = [await changesOf(await call(`PATCH ${path}`, { origins: many, debug: true }))];
    assert.ok(JSON.stringify(long).length < 4_200);
    assert.deepEqual([long.origins.to.slice(0, 12), long.origins.to.at(-1)], ['["https://aa', "…"]);
    assert.deepEqual(long.debug, { from: false, to: true });
  });
});

describe("forbidden actions of operators", () => {
  it("are logged with the error, for any operation and any path", async () => {
    const viewer = await test.createOperator(undefined, "viewer");
    const same = { actor: asActor(viewer), at: `/Date(${test.now()})/`, details: { error: "ObjectPermissionDenied" } };
    const deleted = await call(`DELETE /_/api/operators/${owner.id}`, undefined, viewer);
    const read = await call("GET /_/api/audit.csv", undefined, viewer);
    const garbage = await call(`PATCH /_/api/operators/${"x".repeat(5_000)}`, { role: "owner" }, viewer);
    for (const answer of [deleted, garbage]) {
      assertError(answer, 403, "ObjectPermissionDenied", 771, "This requires the role owner.");
    }
    assertError(read, 403, "ObjectPermissionDenied", 771, "This requires the role editor.");
    const found = await entries(`actor=${viewer.id}`);
    assert.deepEqual(
      found.toReversed().map(({ id: _, ...entry }) => entry),
      [
        { ...same, action: "deleteOperator", target: owner.id, ...from(deleted) },
        { ...same, action: "exportAuditAsCsv", ...from(read) },
        { ...same, action: "changeOperator", ...from(garbage) },
      ],
    );
  });
});

// spec/operators#audit-entries
describe("security events of clients", () => {
  const error = "AuthBadUsernameOrPassword";

  it("log failed sign-ins with the id of an existing user, and never the name that was tried", async () => {
    const { id, userName, deviceToken: token } = await test.signUp("Jane Doe");
    const known = await test.call("POST /users/login", { token, body: { username: userName, password: "wrong one" } });
    const tried = { username: "My password by mistake", password: "wrong one" };
    const unknown = await test.call("POST /users/login", { token, body: tried });
    const proof = { identityProviderName: "nowhere", identityID: "tried id", identityAccessToken: "tried token" };
    const social = await test.call("POST /users/login/social", { token, body: proof });
    const { appid } = test.application;
    const [third, second, first] = await entries(`appid=${appid}&pageSize=3`);
    const { deviceID } = (await test.call("GET /devices/current", { token })).body.result;
    for (const [entry, answer, action] of [
      [first, known, "loginUser"],
      [second, unknown, "loginUser"],
      [third, social, "loginSocialUser"],
    ] as const) {
      assert.equal(answer.status, 403);
      assert.equal(entry.actor.kind, "device");
      if (deviceID !== undefined) assert.equal(entry.actor.id, deviceID);
      assert.deepEqual([entry.action, entry.appid, entry.details], [action, appid, { error }]);
      assert.equal(entry.requestId, answer.body.request_id);
    }
    assert.deepEqual([first.target, second.target, third.target], [id, undefined, undefined]);
    const text = JSON.stringify(await storedRows());
    for (const name of ["Jane Doe", "My password", "wrong one", "tried"]) assert.ok(!text.includes(name), name);
  });

  it("log failed sign-ins of operators without an actor", async () => {
    for (const name of [owner.name, "Nobody at all"]) {
      await test.call("POST /_/api/sessions", { body: { name, password: "wrong" } });
    }
    const [unknown, known] = await entries("action=createOperatorSession&actor=nobody&pageSize=2");
    assert.deepEqual(
      [known.actor, known.target, known.details],
      [{ kind: "nobody" }, owner.id, { error: "AuthFailed" }],
    );
    assert.deepEqual(
      [unknown.actor, unknown.target, unknown.details],
      [{ kind: "nobody" }, undefined, { error: "AuthFailed" }],
    );
    assert.ok(!JSON.stringify(await storedRows()).includes("Nobody at all"));
  });

  it("log password changes and failed attempts, and tokens revoked by other means than logout", async () => {
    const { id, token, userName, deviceToken } = await test.signUp();
    const change = (currentPassword: string) =>
      test.call("PATCH /users/me", { token, body: { password: "another", currentPassword } });
    assert.equal((await change("wrong")).status, 403);
    assert.equal((await change("correct horse")).status, 200);
    assert.equal((await test.call("PATCH /users/me", { token, body: { firstName: "Jane" } })).status, 200);
    const body = { username: userName, password: "another" };
    const second = (await test.call("POST /users/login", { token: deviceToken, body })).body.result.accessToken;
    await test.call("POST /users/me/logout", { token: second });
    await test.call("POST /users/login", { token: deviceToken, body });
    const listed = await test.call("GET /users/me/tokens?pageSize=1", { token });
    const [{ id: tokenId }] = listed.body.result.pageResults;
    assert.equal((await test.call(`DELETE /users/me/tokens/${tokenId}`, { token })).status, 200);
    const found = await entries(`actor=${id}`);
    assert.deepEqual(
      found.toReversed().map(({ action, target, details }) => [action, target, details]),
      [
        ["changeUser", id, { error }],
        ["changeUser", id, { password: "given" }],
        ["endToken", tokenId, {}],
      ],
    );
  });

  it("keep a refusal exactly once when its batch is rolled back", async () => {
    const { id, userName, deviceToken: token } = await test.signUp();
    const requests = [
      { method: "POST", path: "/metrics/events/level" },
      { method: "POST", path: "/users/login", parameters: { username: userName, password: "wrong" } },
    ];
    const answer = await test.call("POST /batch", { token, body: { requests, mode: "atomic" } });
    assert.ok(answer.text.includes(error), answer.text);
    assert.equal((await onlyEntry(`target=${id}`))["action"], "loginUser");
  });
});

describe("audit.note", () => {
  const event = { actor: { kind: "system" }, action: "test" } as const;

  it("does not wait for a write, which follows within about a second", async (t) => {
    const app = await startTestApp();
    t.after(() => app.close());
    for (let n = 0; n < 300; n += 1) await app.app.audit.note({ ...event, target: `${n}` });
    assert.equal((await storedRows(app)).length, 0);
    const deadline = Date.now() + 60_000;
    let rows: AuditRow[] = [];
    while (rows.length < 300 && Date.now() < deadline) {
      await new Promise((resolve) => setTimeout(resolve, 50));
      rows = await storedRows(app);
    }
    assert.deepEqual(
      rows.map(({ target }) => target),
      Array.from({ length: 300 }, (_, n) => `${n}`),
    );
  });

  it("drops some events of a flood, and logs how many", async (t) => {
    const app = await startTestApp();
    t.after(() => app.close());
    for (let n = 0; n < 5_100; n += 1) await app.app.audit.note({ ...event, target: `${n}` });
    assert.equal(app.app.audit.lostAt, app.now());
    await app.app.audit.save();
    const rows = await storedRows(app);
    assert.equal(rows.filter(({ action }) => action === "test").length, 5_000);
    const lost = rows.filter(({ action }) => action === "loseAuditEvents");
    assert.deepEqual(
      lost.map(({ actor_kind, details }) => [actor_kind, JSON.parse(details)]),
      [["system", { count: 100 }]],
    );
  });

  it("writes an event exactly once after a failed attempt", async (t) => {
    const app = await startTestApp();
    t.after(() => app.close());
    const { audit, database } = app.app;
    const broken = t.mock.method(database, "write", () => Promise.reject(new Error("on purpose")));
    await audit.note(event);
    await assert.rejects(audit.save(), /on purpose/);
    broken.mock.restore();
    await Promise.all([audit.save(), audit.save()]);
    assert.equal((await storedRows(app)).length, 1);
  });

  it("writes the waiting events at shutdown", async () => {
    const app = await startTestApp({ DATABASE_URL: test.config.databaseUrl });
    await app.app.audit.note({ ...event, action: "testShutdown" });
    await app.close();
    await onlyEntry("action=testShutdown");
  });

  it("can write an entry for any target and any address", async () => {
    const long = "😀".repeat(9_000);
    const call = { address: long, requestId: "r" };
    await test.app.audit.note({ ...event, action: "testLong", target: long, call, details: { key: long } });
    const { target, address, details } = await onlyEntry("action=testLong");
    const short = "😀".repeat(256);
    assert.deepEqual([target, address, details], [short, short, { key: short }]);
  });
});

describe("actions that users repeat (hostile.md 37)", () => {
  async function endTokens(count: number, { userName, password, token, deviceToken }: TestUser): Promise<void> {
    const body = { username: userName, password };
    for (let n = 0; n < count; n += 1) await test.call("POST /users/login", { token: deviceToken, body });
    const listed = await test.call("GET /users/me/tokens?pageSize=100", { token });
    const others = listed.body.result.pageResults.filter(({ current }: { current: boolean }) => !current);
    assert.equal(others.length, count);
    const requests = others.map(({ id }: { id: string }) => ({ method: "DELETE", path: `/users/me/tokens/${id}` }));
    const { body: answer } = await test.call("POST /batch", { token, body: { requests } });
    assert.ok(answer.result.responses.every(({ status }: { status: number }) => status === 200));
  }

  it("create twenty entries per user, then one every three minutes; the others share an entry with a count", async () => {
    const [user, other] = [await test.signUp(), await test.signUp()];
    await endTokens(30, user);
    const found = await entries(`actor=${user.id}&action=endToken`);
    const [folded] = found.filter(({ count }) => count !== undefined);
    assert.deepEqual(
      [found.length, folded.count, folded.target, folded.details],
      [21, 10, undefined, { repeated: true }],
    );
    assert.equal(new Set(found.map(({ target }) => target)).size, 21);
    await endTokens(1, other);
    assert.equal((await onlyEntry(`actor=${other.id}`))["action"], "endToken");
    test.advance(180_000);
    await endTokens(2, user);
    const counts = (await entries(`actor=${user.id}&action=endToken`)).map(({ count }) => count);
    assert.deepEqual([counts.length, counts.filter(Boolean)], [22, [11]]);
  });

  it("produce no entry, folded or not, when their transaction is rolled back", async () => {
    const user = await test.signUp();
    const event = {
      actor: { kind: "user", id: user.id },
      action: "test",
      applicationId: test.application.appid,
    } as const;
    for (let n = 0; n < 25; n += 1) {
      const undone = test.app.database.write(async (transaction) => {
        await test.app.audit.recordRepeatable(event, transaction);
        throw new Error("on purpose");
      });
      await assert.rejects(undone, /on purpose/);
    }
    assert.deepEqual(await entries(`actor=${user.id}`), []);
  });
});

// spec/operators#folded-refusals
describe("equal refusals (hostile.md 37)", () => {
  const error = "AuthBadUsernameOrPassword";

  it("share an entry with a count and the time of the last one if they are of the same hour", async () => {
    const { id, userName, deviceToken: token, application } = await signUpInNew();
    const [at, appid] = [test.now(), application.appid];
    const guess = () => test.call("POST /users/login", { token, body: { username: userName, password: "wrong" } });
    await guess();
    const once = await onlyEntry(`appid=${appid}`);
    assert.deepEqual([once["count"], once["lastSeen"]], [undefined, undefined]);
    for (let n = 0; n < 8; n += 1) {
      test.advance(1_000);
      assert.equal((await guess()).status, 403);
    }
    const { requestId, ...entry } = await onlyEntry(`appid=${appid}`);
    assert.equal(requestId, once["requestId"]);
    const actor = { kind: "device", id: (await storedRows()).find(({ target }) => target === id)?.actor_id };
    const same = { actor, action: "loginUser", appid, target: id, address: "127.0.0.1", details: { error } };
    assert.deepEqual(entry, { ...same, at: `/Date(${at})/`, count: 9, lastSeen: `/Date(${at + 8_000})/` });
    test.advance(3_600_000);
    await guess();
    assert.deepEqual(
      (await entries(`appid=${appid}`)).map(({ count }) => count),
      [undefined, 9],
    );
  });

  it("are found by the time of the first of them", async () => {
    const appid = test.app.ids.newId("App");
    const start = test.now();
    await note({ appid });
    test.advance(60_000);
    await note({ appid });
    const date = (ms: number) => encodeURIComponent(`/Date(${ms})/`);
    assert.equal((await onlyEntry(`appid=${appid}&from=${date(start)}&to=${date(start + 1)}`))["count"], 2);
    assert.deepEqual(await entries(`appid=${appid}&from=${date(start + 1)}`), []);
  });

  it("are equal only with the same actor, action, application, target, address group and reason", async () => {
    const appid = test.app.ids.newId("App");
    await note({ appid });
    const different = [{ actor: "b" }, { action: "b" }, { target: "b" }, { address: "2.2.2.2" }, { error: "b" }];
    for (const each of different) await note({ appid, ...each });
    await note({ appid, address: "2001:db8::1" });
    await note({ appid, address: "2001:db8::2" });
    const found = await entries(`appid=${appid}`);
    assert.deepEqual(
      found.map(({ count }) => count),
      [2, ...Array(6).fill(undefined)],
    );
  });

  it("fill at most a thousand entries of an application per hour, plus one for the rest, whatever an attacker varies", async () => {
    const [appid, quiet] = [test.app.ids.newId("App"), test.app.ids.newId("App")];
    const vary = async (start: number, end: number) => {
      for (let n = start; n < end; n += 1) await note({ appid, address: `10.0.${n >> 8}.${n & 255}` });
    };
    await vary(0, 1_030);
    await note({ appid: quiet });
    await vary(1_000, 1_050);
    const found = (await stored(appid)).toSorted((a, b) => b.count - a.count);
    assert.equal(found.length, 1_001);
    const [others, ...rest] = found;
    assert.deepEqual(
      [others?.action, others?.actor_kind, others?.count, JSON.parse(others?.details ?? "")],
      ["foldRefusals", "system", 80, { different: 50 }],
    );
    assert.ok(rest.every(({ count }) => count === 1));
    await note({ appid, address: "10.0.0.0" });
    assert.equal((await stored(appid)).filter(({ count }) => count === 2).length, 1);
    assert.equal((await onlyEntry(`appid=${quiet}`))["action"], "loginUser");
    test.advance(3_600_000);
    await vary(2_000, 2_001);
    assert.equal((await stored(appid)).length, 1_002);
  });

  it("do not hide refused sign-ins of operators, and do not fold operators' changes", async () => {
    for (let n = 0; n < 2; n += 1) {
      await test.call("POST /_/api/sessions", { body: { name: owner.name, password: "wrong" } });
      assert.equal((await call(`PATCH /_/api/operators/${owner.id}`, { role: "owner" })).status, 200);
    }
    const found = await entries(`target=${owner.id}`);
    assert.deepEqual(found.map(({ action, count }) => [action, count]).toSorted(), [
      ["changeOperator", undefined],
      ["changeOperator", undefined],
      ["createOperatorSession", 2],
    ]);
  });

  it("are counted once even if their entry is being written or cannot be written", async (t) => {
    const appid = test.app.ids.newId("App");
    await note({ appid });
    const saved = test.app.audit.save();
    await note({ appid });
    await saved;
    const broken = t.mock.method(test.app.database, "write", () => Promise.reject(new Error("on purpose")));
    await note({ appid });
    await assert.rejects(test.app.audit.save(), /on purpose/);
    broken.mock.restore();
    assert.deepEqual(
      (await stored(appid)).map(({ count }) => count),
      [3],
    );
  });

  async function signUpInNew() {
    const application = await test.createApplication();
    return { ...(await test.signUp(undefined, application)), application };
  }

  function note(given: {
    appid: string;
    actor?: string;
    action?: string;
    target?: string;
    address?: string;
    error?: string;
  }) {
    return test.app.audit.note({
      actor: { kind: "device", id: given.actor ?? "a" },
      action: given.action ?? "loginUser",
      applicationId: given.appid,
      target: given.target,
      call: { address: given.address ?? "1.1.1.1", requestId: "" },
      details: { error: given.error ?? error },
    });
  }

  async function stored(appid: string): Promise<AuditRow[]> {
    await test.app.audit.save();
    return (await storedRows()).filter(({ application_id }) => application_id === appid);
  }
});

// spec/operators#audit-filters
describe("GET /_/api/audit", () => {
  it("requires the role viewer, and is not available to clients", async () => {
    const viewer = await test.createOperator(undefined, "viewer");
    assert.equal((await call("GET /_/api/audit", undefined, viewer)).status, 200);
    const { token } = await test.signUp();
    assert.equal((await test.call("GET /_/api/audit", { token })).status, 401);
  });

  it("pages newest first in both directions, with every combination of filters", async () => {
    const { audit, ids } = test.app;
    const [appid, another] = [ids.newId("App"), ids.newId("App")];
    const startedAt = test.now();
    const made: string[] = [];
    for (let n = 0; n < 12; n += 1) {
      const target = `t${n}`;
      await audit.note({
        actor: { kind: "user", id: n % 2 === 0 ? "even" : "odd" },
        action: n % 3 === 0 ? "third" : "other",
        applicationId: n < 10 ? appid : another,
        target,
      });
      made.push(target);
      test.advance(1_000);
    }
    const targets = async (query: string) => (await entries(query)).map(({ target }) => target);
    assert.deepEqual(await targets(`appid=${appid}`), made.slice(0, 10).toReversed());
    assert.deepEqual(await targets(`appid=${appid}&actor=even`), ["t8", "t6", "t4", "t2", "t0"]);
    assert.deepEqual(await targets(`appid=${appid}&actor=even&action=third`), ["t6", "t0"]);
    assert.deepEqual(await targets(`appid=${another}&target=t11`), ["t11"]);
    assert.deepEqual(await targets(`appid=${another}&target=t1`), []);
    const [from, to] = [startedAt + 3_000, startedAt + 6_000].map((ms) => encodeURIComponent(`/Date(${ms})/`));
    assert.deepEqual(await targets(`from=${from}&to=${to}&appid=${appid}`), ["t5", "t4", "t3"]);
    assert.deepEqual(await targets(`from=${to}&to=${from}&appid=${appid}`), []);

    const first = (await call(`GET /_/api/audit?appid=${appid}&pageSize=4`)).body.result;
    const second = (await call(`GET /_/api/audit?pagingToken=${first.nextToken}`)).body.result;
    const third = (await call(`GET /_/api/audit?pagingToken=${second.nextToken}`)).body.result;
    const back = (await call(`GET /_/api/audit?pagingToken=${third.previousToken}`)).body.result;
    assert.deepEqual(
      [first, second, third].flatMap(({ pageResults }) => pageResults.map(({ target }: { target: string }) => target)),
      made.slice(0, 10).toReversed(),
    );
    assert.equal(third.nextToken, undefined);
    assert.deepEqual(back.pageResults, second.pageResults);
  });

  it("filters by several actions in one order, by the kind of actor, and by refusal", async () => {
    const { audit, ids } = test.app;
    const appid = ids.newId("App");
    for (const [target, action, kind, error] of [
      ["t0", "one", "operator", undefined],
      ["t1", "two", "user", "AuthFailed"],
      ["t2", "three", "user", undefined],
      ["t3", "one", "system", "AuthFailed"],
    ] as const) {
      const details = error === undefined ? { note: '"error":' } : { error };
      await audit.note({ actor: { kind, id: "x" }, action, applicationId: appid, target, details });
      test.advance(1_000);
    }
    const targets = async (query: string) => (await entries(`appid=${appid}&${query}`)).map(({ target }) => target);
    assert.deepEqual(await targets("action=one,%20two"), ["t3", "t1", "t0"]);
    assert.deepEqual(await targets("action=two,one,two&refused=true"), ["t3", "t1"]);
    assert.deepEqual(await targets("refused=false"), ["t2", "t0"]);
    assert.deepEqual(await targets("actorKind=user"), ["t2", "t1"]);
    const isRest = (action: string) => !["one", "two"].includes(action);
    const rest = (await entries(`appid=${appid}`)).filter(({ action }) => isRest(action)).map(({ target }) => target);
    assert.deepEqual(await targets("exceptAction=one,two"), rest);
    const first = (await call(`GET /_/api/audit?appid=${appid}&action=one,two&pageSize=2`)).body.result;
    const second = (await call(`GET /_/api/audit?pagingToken=${first.nextToken}`)).body.result;
    assert.deepEqual(
      second.pageResults.map(({ target }: { target: string }) => target),
      ["t0"],
    );
    const many = Array.from({ length: 21 }, (_, n) => `a${n}`).join(",");
    const message = "action must have at most 20 names.";
    assertError(await call(`GET /_/api/audit?action=${many}`), 400, "ParameterOutOfRange", 514, message);
  });

  // spec/operators#audit-exports
  it("exports the complete log as CSV and as NDJSON, with cells that no spreadsheet executes; the export is an entry itself", async () => {
    const { ids } = test.app;
    const appid = ids.newId("App");
    const formula = '=cmd|"x",1';
    const targets = [formula, ...Array.from({ length: 1_100 }, (_, n) => `t${n}`)];
    const rows = targets.map((target) => {
      const actor = { kind: "user", id: "-x" } as const;
      return newAuditRow({ actor, action: target, applicationId: appid, target }, test.now(), ids);
    });
    for (let start = 0; start < rows.length; start += 367) {
      const some = rows.slice(start, start + 367);
      await test.app.database.write(({ queries }) => insertAuditRows(some, queries));
    }
    const lines = await call(`GET /_/api/audit.ndjson?appid=${appid}&actor=-x`);
    assert.deepEqual([lines.status, lines.headers["content-type"]], [200, "application/x-ndjson"]);
    const found = lines.text
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line));
    assert.deepEqual(found.map(({ target }) => target).toSorted(), targets.toSorted());
    assert.deepEqual(found[0].details, {});

    const sheet = await call(`GET /_/api/audit.csv?appid=${appid}&actor=-x&target=${encodeURIComponent(formula)}`);
    assert.equal(sheet.headers["content-disposition"], 'attachment; filename="audit.csv"');
    const [head, line, ...rest] = sheet.text.split("\r\n");
    assert.equal(
      head,
      "id,at,actorKind,actorId,actorName,action,appid,target,address,requestId,details,count,lastSeen",
    );
    const cell = `"'=cmd|""x"",1"`;
    assert.equal(line?.split("Z,")[1], `user,'-x,,${cell},${appid},${cell},,,{},1,`);
    assert.deepEqual(rest, [""]);
    const exports = await entries(`appid=${appid}&action=exportAuditAsCsv,exportAuditAsNdjson`);
    assert.deepEqual(
      exports.map(({ actor }) => actor),
      [asActor(owner), asActor(owner)],
    );
    const empty = await call(`GET /_/api/audit.csv?appid=${ids.newId("App")}`);
    assert.equal(empty.text.split("\r\n").length, 3, "the head, and the entry of this export");
  });

  it("answers 400 for an invalid application id or date, and treats wildcards literally (hostile.md 16, 20)", async () => {
    for (const query of ["appid=x", "from=yesterday", "to=x"]) {
      const { status, body } = await call(`GET /_/api/audit?${query}`);
      assert.deepEqual([status, body.error], [400, "ParameterIncorrectFormat"], query);
    }
    const wrongKind = await call(`GET /_/api/audit?appid=${owner.id}`);
    assertError(wrongKind, 400, "ParameterOutOfRange", 514, "Incorrect id type, expected App.");
    for (const query of ["action=%25", "actor=%25", "target=_", "action='%20or%20''='", "actor=__proto__"]) {
      assert.deepEqual(await entries(query), []);
    }
  });
});

describe("the audit log", () => {
  it("stores events for AUDIT_DAYS; then maintenance deletes them", async (t) => {
    const app = await startTestApp({ AUDIT_DAYS: "30" });
    t.after(() => app.close());
    const { audit } = app.app;
    for (let n = 0; n < 1_500; n += 1) await audit.note({ actor: { kind: "system" }, action: "old" });
    app.advance(dayMs);
    await audit.note({ actor: { kind: "system" }, action: "newer" });
    await audit.save();
    await maintain(app.app);
    assert.equal((await storedRows(app)).length, 1_501);
    app.advance(29 * dayMs + 1);
    await maintain(app.app);
    assert.deepEqual(
      (await storedRows(app)).map(({ action }) => action),
      ["newer"],
    );
  });

  it("belongs to the deployment: entries outlive the applications and users that they mention", async () => {
    const application = await test.createApplication();
    const { id, deviceToken, token, userName } = await test.signUp("Gone", application);
    await test.call("POST /users/login", { token: deviceToken, body: { username: userName, password: "wrong" } });
    assertResult(await test.call("DELETE /users/me", { token }), 200, true);
    assert.equal((await onlyEntry(`target=${id}`))["appid"], application.appid);
  });

  it("cannot be changed by any operation: they only list, count and export it", () => {
    const about = test.app.routes.filter(({ path }) => path.startsWith("/_/api/audit"));
    assert.deepEqual(
      about.map(({ method, path }) => `${method} ${path}`),
      ["GET /_/api/audit", "GET /_/api/audit/counts", "GET /_/api/audit.csv", "GET /_/api/audit.ndjson"],
    );
  });
});

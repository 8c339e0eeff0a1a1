import assert from "node:assert/strict";
import { after, before, beforeEach, describe, it } from "node:test";
import {
  type Answer,
  assertError,
  assertResult,
  startTestApp,
  type TestApp,
  type TestOperator,
} from "../../test/harness.ts";
import type { AuditRow } from "../db/tables.ts";
import { maintain } from "../maintenance.ts";

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

/** The entries of the log that are asked for, newest first. */
// biome-ignore lint/suspicious/noExplicitAny: entries as they come, to be compared whole
async function entries(query: string): Promise<any[]> {
  const { status, body } = await call(`GET /_/api/audit?${query}`);
  assert.equal(status, 200, JSON.stringify(body));
  return body.result.pageResults;
}

/** One entry, apart from its id. */
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

/** The end of an entry about what this answer answers. */
function from({ body }: Answer) {
  return { address: "127.0.0.1", requestId: body.request_id };
}

describe("what operators change", () => {
  it("is told with who, what, to what, when, from where and which request, and no secret or name of anybody else", async () => {
    const at = `/Date(${test.now()})/`;
    const created = await call("POST /_/api/operators", { name: "Secret name", role: "editor" });
    const { id, password } = created.body.result;
    const changed = await call(`PATCH /_/api/operators/${id}`, { role: "viewer", password: "a new password" });
    const deleted = await call(`DELETE /_/api/operators/${id}`);
    const [third, second, first] = await entries(`target=${id}`);
    const same = { at, actor: asActor(owner), target: id };
    assert.deepEqual(
      [first, second, third].map(({ id: _, ...entry }) => entry),
      [
        { ...same, action: "createOperator", ...from(created), details: { name: "given", role: "editor" } },
        { ...same, action: "changeOperator", ...from(changed), details: { role: "viewer", password: "given" } },
        { ...same, action: "deleteOperator", ...from(deleted), details: {} },
      ],
    );
    const text = JSON.stringify(await storedRows());
    for (const secret of ["Secret name", password, "a new password", owner.token]) assert.ok(!text.includes(secret));
  });

  it("is told of every session that begins and ends", async () => {
    const { name, password, id } = owner;
    const signedIn = await test.call("POST /_/api/sessions", { body: { name, password } });
    const { token } = signedIn.body.result;
    await test.call("DELETE /_/api/sessions/current", { token });
    const [ended, begun] = await entries(`actor=${id}`);
    assert.deepEqual([begun.action, begun.target, begun.actor], ["createOperatorSession", id, asActor(owner)]);
    assert.deepEqual([ended.action, ended.actor], ["deleteOperatorSession", asActor(owner)]);
  });

  it("calls an operator by the name that it had then", async () => {
    const [operator, target] = [await test.createOperator("Before"), await test.createOperator()];
    await call(`PATCH /_/api/operators/${target.id}`, { role: "viewer" }, operator);
    await call(`PATCH /_/api/operators/${operator.id}`, { name: "Afterwards" });
    const { actor } = await onlyEntry(`actor=${operator.id}`);
    assert.deepEqual(actor, { kind: "operator", id: operator.id, name: "Before" });
  });

  it("what failed has not happened, and what is only read is not told", async () => {
    await call("POST /_/api/operators", { name: owner.name, role: "viewer" }); // taken
    await call(`DELETE /_/api/operators/${test.app.ids.newId("Operator")}`);
    await call("POST /_/api/operators", { name: "x" });
    await call("GET /_/api/operators");
    await call("GET /_/api/applications");
    assert.deepEqual(await entries(`actor=${owner.id}`), []);
  });

  it("is there with its entry or not at all: when the entry cannot be written, nothing is changed", async (t) => {
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

describe("what operators may not do", () => {
  it("is told with the error, whatever it was and whatever stood in the path", async () => {
    const viewer = await test.createOperator(undefined, "viewer");
    const same = { actor: asActor(viewer), at: `/Date(${test.now()})/`, details: { error: "ObjectPermissionDenied" } };
    const deleted = await call(`DELETE /_/api/operators/${owner.id}`, undefined, viewer);
    const listed = await call("GET /_/api/operators", undefined, viewer);
    const garbage = await call(`PATCH /_/api/operators/${"x".repeat(5_000)}`, { role: "owner" }, viewer);
    for (const answer of [deleted, listed, garbage]) {
      assertError(answer, 403, "ObjectPermissionDenied", 771, "This takes the role owner.");
    }
    const found = await entries(`actor=${viewer.id}`);
    assert.deepEqual(
      found.toReversed().map(({ id: _, ...entry }) => entry),
      [
        { ...same, action: "deleteOperator", target: owner.id, ...from(deleted) },
        { ...same, action: "listOperators", ...from(listed) },
        { ...same, action: "changeOperator", ...from(garbage) },
      ],
    );
  });
});

describe("security events of clients", () => {
  const error = "AuthBadUsernameOrPassword";

  it("sign-ins that fail, of users by id where there is one, and never by a name that was tried", async () => {
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

  it("sign-ins of operators that fail, by nobody", async () => {
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

  it("passwords changed, and tried to be; tokens ended by other means than logging out", async () => {
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

  it("what was refused stays when the batch that it was in is undone, once", async () => {
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

describe("noting", () => {
  const event = { actor: { kind: "system" }, action: "test" } as const;

  it("waits for no write, and is written within about a second by itself", async (t) => {
    const app = await startTestApp();
    t.after(() => app.close());
    for (let n = 0; n < 300; n += 1) await app.app.audit.note({ ...event, target: `${n}` });
    assert.equal((await storedRows(app)).length, 0);
    const deadline = Date.now() + 10_000;
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

  it("of a flood some are lost, and how many is told", async (t) => {
    const app = await startTestApp();
    t.after(() => app.close());
    for (let n = 0; n < 5_100; n += 1) await app.app.audit.note({ ...event, target: `${n}` });
    await app.app.audit.save();
    const rows = await storedRows(app);
    assert.equal(rows.filter(({ action }) => action === "test").length, 5_000);
    const lost = rows.filter(({ action }) => action === "loseAuditEvents");
    assert.deepEqual(
      lost.map(({ actor_kind, details }) => [actor_kind, JSON.parse(details)]),
      [["system", { count: 100 }]],
    );
  });

  it("what could not be written is written later, once", async (t) => {
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

  it("a shutdown writes what waits", async () => {
    const app = await startTestApp({ DATABASE_URL: test.config.databaseUrl });
    await app.app.audit.note({ ...event, action: "testShutdown" });
    await app.close();
    await onlyEntry("action=testShutdown");
  });

  it("whatever a target or an address is, the entry can be written", async () => {
    const long = "😀".repeat(9_000);
    const call = { address: long, requestId: "r" };
    await test.app.audit.note({ ...event, action: "testLong", target: long, call, details: { key: long } });
    const { target, address, details } = await onlyEntry("action=testLong");
    const short = "😀".repeat(256);
    assert.deepEqual([target, address, details], [short, short, { key: short }]);
  });
});

describe("GET /_/api/audit", () => {
  it("takes the role viewer, and no client", async () => {
    const viewer = await test.createOperator(undefined, "viewer");
    assert.equal((await call("GET /_/api/audit", undefined, viewer)).status, 200);
    const { token } = await test.signUp();
    assert.equal((await test.call("GET /_/api/audit", { token })).status, 401);
  });

  it("pages newest first in both directions, and by every filter together", async () => {
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

  it("400 for what is no application or no date; wildcards are text (hostile.md 16, 20)", async () => {
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

describe("the log", () => {
  it("is kept for AUDIT_DAYS, and then dropped by maintenance", async (t) => {
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

  it("is of the deployment: it outlives an application and a user that it tells of", async () => {
    const application = await test.createApplication();
    const { id, deviceToken, token, userName } = await test.signUp("Gone", application);
    await test.call("POST /users/login", { token: deviceToken, body: { username: userName, password: "wrong" } });
    assertResult(await test.call("DELETE /users/me", { token }), 200, true);
    assert.equal((await onlyEntry(`target=${id}`))["appid"], application.appid);
  });

  it("cannot be changed by any operation: there is none but the one that lists", () => {
    const about = test.app.routes.filter(({ path }) => path.startsWith("/_/api/audit"));
    assert.deepEqual(
      about.map(({ method, path }) => `${method} ${path}`),
      ["GET /_/api/audit"],
    );
  });
});

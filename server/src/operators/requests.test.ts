// spec/statistics#recent-requests
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { startTestApp, type TestApp, type TestUser } from "../../test/harness.ts";
import type { NewApplication } from "../applications/applications.store.ts";

let test: TestApp;
let operator: string;
let viewer: string;
let application: NewApplication;
let jane: TestUser;
before(async () => {
  test = await startTestApp();
  operator = (await test.createOperator()).token;
  viewer = (await test.createOperator("Viewer", "viewer")).token;
  application = await test.createApplication();
  jane = await test.signUp("jane", application);
});
after(() => test.close());

interface Requests {
  readonly calls: readonly Record<string, unknown>[];
  readonly cursor: string;
  readonly processes: readonly unknown[];
  readonly before?: string;
  readonly since?: string;
}

async function list(query = "", token = operator): Promise<Requests> {
  const path = `/_/api/applications/${application.appid}/requests?${query}`;
  const { status, body } = await test.call(`GET ${path}`, { token });
  assert.equal(status, 200, JSON.stringify(body));
  return body.result;
}

describe("recent requests", () => {
  it("are those of the log, newest first, without query, headers and bodies", async () => {
    const path = `/checkins/${test.app.ids.newId("Checkin")}`;
    const { body } = await test.call(`GET ${path}?secret=in-the-query`, { token: jane.token });
    await test.call("PATCH /users/me", { token: jane.token, body: { firstName: "in-the-body" } });
    const refused = { appid: application.appid, appkey: "a-wrong-key", platform: "iOS" };
    await test.call("POST /devices", { body: refused });
    const { calls, processes, since } = await list();
    assert.deepEqual(
      calls.map(({ operation, status }) => `${operation} ${status}`),
      ["registerDevice 401", "changeUser 200", "getCheckin 404", "createUser 200", "registerDevice 201"],
    );
    const found = calls.find(({ requestId }) => requestId === body.request_id);
    const { time, ms, device, ...others } = found ?? {};
    assert.match(String(time), /^\/Date\(\d+\)\/$/);
    assert.ok(typeof ms === "number" && ms > 0);
    assert.match(String(device), /^dev_/);
    assert.deepEqual(others, {
      ...{ requestId: body.request_id, method: "GET", path, operation: "getCheckin" },
      ...{ status: 404, error: "ItemDoesNotExist", message: body.message },
      ...{ platform: "test", user: jane.id, address: "127.0.0.1", worker: 1 },
    });
    for (const secret of ["in-the-query", "in-the-body", "a-wrong-key"])
      assert.ok(!JSON.stringify(calls).includes(secret));
    assert.deepEqual(processes, [{ worker: 1, isSilent: false }]);
    assert.match(String(since), /^\/Date\(\d+\)\/$/);
  });

  it("are listed after a cursor if they are later", async () => {
    const { cursor } = await list();
    assert.deepEqual((await list(`cursor=${cursor}`)).calls, []);
    for (let n = 0; n < 3; n += 1) await test.call("GET /users/me", { token: jane.token });
    await test.call("POST /batch", { token: jane.token, body: { requests: [{ path: "/users/me", method: "GET" }] } });
    const next = await list(`cursor=${cursor}`);
    assert.equal(next.calls.length, 5);
    const [whole, item] = next.calls;
    assert.deepEqual([whole?.["operation"], item?.["batch"]], ["runBatch", whole?.["requestId"]]);
    assert.deepEqual((await list(`cursor=${next.cursor}`)).calls, []);
    assert.equal((await list(`cursor=${cursor}`)).calls.length, 5, "a cursor can be used again");
    const ofEndedProcess = Buffer.from(JSON.stringify([["gone", 9]])).toString("base64url");
    assert.ok(
      (await list(`cursor=${ofEndedProcess}`)).calls.length > 5,
      "the last calls of a process that is not in it",
    );
  });

  it("are listed before an answer, page by page, as far as they are stored", async () => {
    const other = await test.createApplication();
    const path = `/_/api/applications/${other.appid}/requests`;
    const read = async (query: string): Promise<Requests> =>
      (await test.call(`GET ${path}?${query}`, { token: operator })).body.result;
    const jack = await test.signUp("jack", other); // two calls
    for (let n = 0; n < 120; n += 1) await test.call("GET /users/me", { token: jack.token });
    for (let n = 0; n < 120; n += 1) await test.call("GET /checkins/chk_1", { token: jack.token });
    const first = await read("");
    assert.equal(first.calls.length, 100);
    assert.equal(first.since, first.calls.at(-1)?.["time"], "complete as far as it is shown");
    const second = await read(`before=${first.before}`);
    const third = await read(`before=${second.before}`);
    const all = [...first.calls, ...second.calls, ...third.calls];
    assert.equal(new Set(all.map(({ requestId }) => requestId)).size, 242);
    const operations = all.map(({ operation }) => operation);
    assert.deepEqual(operations.slice(-2), ["createUser", "registerDevice"]);
    assert.ok(operations.slice(0, 120).every((operation) => operation === "getCheckin"));
    assert.equal(third.before, undefined);
    assert.ok(String(third.since) <= String(third.calls.at(-1)?.["time"]));

    const refused = await read("refused=true");
    const earlier = await read(`refused=true&before=${refused.before}`);
    assert.deepEqual([refused.calls.length, earlier.calls.length, earlier.before], [100, 20, undefined]);

    await test.call("GET /users/me", { token: jack.token });
    const later = await read(`cursor=${first.cursor}`);
    assert.deepEqual([later.calls.length, later.before, later.since], [1, undefined, undefined], "nothing is missing");
    for (let n = 0; n < 1_001; n += 1) await test.call("GET /users/me", { token: jack.token });
    assert.match(String((await read(`cursor=${later.cursor}`)).since), /^\/Date/, "a call was dropped meanwhile");
  });

  it("can be filtered", async () => {
    const { calls } = await list();
    const ids = (some: Requests["calls"]) => some.map(({ requestId }) => requestId);
    const [slowest] = calls.map(({ ms }) => Number(ms)).sort((a, b) => b - a);
    const filters: readonly [query: string, matches: (call: Record<string, unknown>) => boolean][] = [
      ["status=4xx", ({ status }) => Number(status) >= 400 && Number(status) < 500],
      ["status=404", ({ status }) => status === 404],
      ["refused=true", ({ status }) => Number(status) >= 400],
      ["operation=createUser", ({ operation }) => operation === "createUser"],
      ["error=ItemDoesNotExist", ({ error }) => error === "ItemDoesNotExist"],
      [`userID=${jane.id}`, ({ user }) => user === jane.id],
      [`deviceID=${calls[0]?.["device"]}`, ({ device }) => device === calls[0]?.["device"]],
      ["address=127.0.0.1", () => true],
      ["address=127.0.0.2", () => false],
      [`slowerThanMs=${(slowest ?? 0) + 1}`, () => false],
      [
        `requestId=${calls[0]?.["requestId"]}`,
        (call) => [call["requestId"], call["batch"]].includes(calls[0]?.["requestId"]),
      ],
    ];
    for (const [query, matches] of filters) {
      assert.deepEqual(ids((await list(query)).calls), ids(calls.filter(matches)), query);
    }
  });

  it("show viewers networks instead of addresses, and filter by network for them", async () => {
    const { calls } = await list("address=127.0.0.99", viewer);
    assert.ok(calls.length > 0);
    assert.ok(calls.every(({ address }) => address === "127.0.0.0"));
  });

  it("are not stored without the console", async () => {
    const other = await startTestApp({ CONSOLE: "off" });
    try {
      await other.registerDevice();
      const { token } = await other.createOperator();
      const { body } = await other.call(`GET /_/api/applications/${other.application.appid}/requests`, { token });
      assert.deepEqual(body.result.calls, []);
    } finally {
      await other.close();
    }
  });

  it("include calls whose genuine token was refused: of the wrong kind, expired, or of a disabled user", async () => {
    const { cursor } = await list();
    const jack = await test.signUp("jack", application);
    const call = (token: string) => test.call("GET /users/me", { token });
    await call(jack.deviceToken);
    const requests = [{ path: "/users/me", method: "GET" }];
    await test.call("POST /batch", { token: jack.deviceToken, body: { requests } });
    const of = `/_/api/applications/${application.appid}/users/${jack.id}`;
    await test.call(`POST ${of}/disable`, { token: operator, body: {} });
    await call(jack.token);
    await test.call(`POST ${of}/enable`, { token: operator, body: {} });
    await test.call(`POST ${of}/revoke-tokens`, { token: operator, body: {} });
    await call(jack.token);
    await call("not a token");
    const refused = (await list(`cursor=${cursor}&refused=true`)).calls;
    const ofJack = (await list(`cursor=${cursor}&userID=${jack.id}`)).calls;
    assert.deepEqual(
      refused.map(({ error, batch, user }) => [error, batch !== undefined, user]),
      [
        ["AuthAccessTokenInvalid", false, jack.id],
        ["AuthUserAccountDisabled", false, jack.id],
        ["AuthUserAccessTokenRequired", true, undefined],
        ["AuthUserAccessTokenRequired", false, undefined],
      ],
    );
    assert.equal(ofJack.length, 2);
    assert.equal(new Set(refused.map(({ device }) => device)).size, 1);
    await test.app.statistics.save();
    const statistics = `/_/api/applications/${application.appid}/statistics?series=errors`;
    const { errors } = (await test.call(`GET ${statistics}`, { token: operator })).body.result;
    const wrongKind = errors.find(({ error }: { error: string }) => error === "AuthUserAccessTokenRequired");
    assert.deepEqual([wrongKind.operation, wrongKind.count], ["getOwnUser", 2]);
  });

  it("are refused for an invalid cursor or status, and for an unknown application", async () => {
    const path = `/_/api/applications/${application.appid}/requests`;
    const errorOf = async (query: string) => (await test.call(`GET ${path}?${query}`, { token: operator })).body.error;
    for (const cursor of [
      "x",
      Buffer.from('[["a",-1.5]]').toString("base64url"),
      Buffer.from("{}").toString("base64url"),
    ]) {
      assert.equal(await errorOf(`cursor=${cursor}`), "ParameterIncorrectFormat", cursor);
    }
    assert.equal(await errorOf("status=4x4"), "ParameterOutOfRange");
    assert.equal(await errorOf("before=x"), "ParameterIncorrectFormat");
    const { cursor } = await list();
    assert.equal(await errorOf(`cursor=${cursor}&before=${cursor}`), "ParameterOutOfRange");
    const unknown = `GET ${path.replace(application.appid, test.app.ids.newId("App"))}`;
    assert.equal((await test.call(unknown, { token: operator })).body.error, "ItemDoesNotExist");
  });
});

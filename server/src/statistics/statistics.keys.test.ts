import assert from "node:assert/strict";
import { createHmac } from "node:crypto";
import { after, before, describe, it } from "node:test";
import { longSessions, startTestApp, type TestApp } from "../../test/harness.ts";
import { compactStatistics } from "./statistics.store.ts";
import { updateTotals } from "./statistics.totals.ts";
import { Tally } from "./tally.ts";

let test: TestApp;
let operator: string;
before(async () => {
  test = await startTestApp(longSessions);
  operator = (await test.createOperator()).token;
});
after(() => test.close());

const hourMs = 3_600_000;

async function ask(path: string) {
  const { status, body } = await test.call(`GET /_/api/applications${path}`, { token: operator });
  assert.equal(status, 200, JSON.stringify(body));
  return body.result;
}

async function createKey(appid: string): Promise<{ keyId: string; appkey: string }> {
  const path = `POST /_/api/applications/${appid}/keys`;
  const { id: keyId, appkey } = (await test.call(path, { token: operator, body: {} })).body.result;
  return { keyId, appkey };
}

async function register(appid: string, appkey: string): Promise<string> {
  const { body } = await test.call("POST /devices", { body: { appid, appkey, platform: "iOS" } });
  return body.result.accessToken;
}

function sumOf(points: readonly { value: number }[]): number {
  return points.reduce((total, { value }) => total + value, 0);
}

function withoutPoints(keys: readonly { points?: unknown }[]): unknown[] {
  return keys.map(({ points: _, ...rest }) => rest);
}

// spec/statistics#statistics-of-an-application
describe("statistics by application key", () => {
  it("count registrations and signed calls of each key, a batch once, for minutes, hours and the impact of a key", async () => {
    const { appid, appkey } = await test.createApplication();
    const second = await createKey(appid);
    const [first] = (await ask(`/${appid}/keys`)).pageResults.filter(({ id }: { id: string }) => id !== second.keyId);
    const [old, recent] = [await register(appid, appkey), await register(appid, second.appkey)];
    await register(appid, second.appkey);
    const { secret } = (
      await test.call(`PUT /_/api/applications/${appid}/signing-secret`, { token: operator, body: {} })
    ).body.result;
    const path = "/devices/current";
    const signature = createHmac("sha256", secret).update(`GET\n${appid}\n${path}`).digest("hex");
    const signed = { headers: { authorization: `Service ${recent} ${signature}` } };
    for (let n = 0; n < 3; n += 1) assert.equal((await test.call(`GET ${path}`, signed)).status, 200);
    const wrong = { headers: { authorization: `Service ${recent} ${signature.replaceAll(/[0-9]/g, "a")}` } };
    assert.equal((await test.call(`GET ${path}`, wrong)).body.error, "AuthSignatureInvalid");
    const requests = [{ path }, { path }];
    await test.call("POST /batch", { token: old, body: { requests } });
    await test.app.statistics.save();

    const used = { keyId: second.keyId, calls: 4, signedCalls: 3, registrations: 2 };
    const keys = [used, { keyId: first.id, calls: 1, signedCalls: 0, registrations: 1 }];
    const query = `/${appid}/statistics?series=keys,signatures`;
    for (const interval of ["minute", "hour"]) {
      const found = await ask(`${query}&interval=${interval}`);
      const sumsOfKeys = found.keys.map(({ points }: { points: [] }) => sumOf(points));
      assert.deepEqual([withoutPoints(found.keys), sumsOfKeys], [keys, [2, 1]], interval);
      const sums = found.series.map(({ name, points }: { name: string; points: [] }) => [name, sumOf(points)]);
      assert.deepEqual(sums, [
        ["signatures.signed", 3],
        ["signatures.unsigned", 2],
      ]);
    }
    assert.equal((await ask(`/${appid}/keys/${second.keyId}/impact`)).signedShare, 0.75);
    assert.equal((await ask(`/${appid}/keys/${first.id}/impact`)).signedShare, 0);
    assert.equal((await ask(`/${appid}/impact`)).signedShare, 0.6);

    test.advance(2 * hourMs);
    await compactStatistics(appid, test.now(), test.app.database);
    assert.deepEqual(withoutPoints((await ask(`${query}&interval=hour`)).keys), keys, "after compaction");
    test.advance(23 * hourMs);
    assert.equal((await ask(`/${appid}/impact`)).signedShare, undefined, "a day later");
    const all = await test.call("GET /_/api/statistics?series=keys", { token: operator });
    assert.deepEqual(all.body.result.keys, [], "keys of several applications are counted together");
  });

  it("are bounded: beyond a hundred keys, calls are counted together; rows of an earlier release have none", () => {
    const tally = new Tally();
    for (let n = 0; n < 150; n += 1) tally.countKey(`apk_${n}`, n % 2 === 0);
    const read = Tally.read(tally.write(16_384));
    assert.ok(read.keys.size <= 101);
    assert.deepEqual(read.keyTotal, { calls: 150, signed: 75, registrations: 0 });
    const earlier = new Tally().write(16_384).subarray(0, -3); // without the counts of keys, origins and peaks
    assert.equal(Tally.read(earlier).keys.size, 0);
  });
});

// spec/statistics#origins-of-web-pages
describe("statistics of the origins of web pages", () => {
  it("count requests with a token by their origin, also after compaction, and never for the deployment", async () => {
    await test.app.statistics.save(); // the clock has advanced
    const { appid, appkey } = await test.createApplication();
    const token = await register(appid, appkey);
    const from = (origin: string | undefined, bearer = token) =>
      test.call("GET /devices/current", { token: bearer, headers: origin === undefined ? {} : { Origin: origin } });
    for (const origin of ["https://a.example", "https://b.example:8443", "https://a.example", undefined]) {
      await from(origin);
    }
    await from("https://refused.example", "none");
    const requests = [{ path: "/devices/current" }, { path: "/devices/current" }];
    await test.call("POST /batch", { token, body: { requests }, headers: { Origin: "https://a.example" } });
    const hostile = [
      "null",
      "<script>",
      "https://a.example/path",
      "javascript:alert(1)",
      `https://${"a".repeat(200)}.example`,
    ];
    for (const origin of hostile) assert.equal((await from(origin)).status, 200);
    await test.app.statistics.save();
    const origins = [
      { origin: "https://a.example", calls: 3 },
      { origin: "https://b.example:8443", calls: 1 },
    ];
    const read = async () => (await ask(`/${appid}/statistics?series=origins&interval=hour`)).origins;
    assert.deepEqual(await read(), origins);
    test.advance(2 * hourMs);
    await compactStatistics(appid, test.now(), test.app.database);
    assert.deepEqual(await read(), origins, "after compaction");
    const all = await test.call("GET /_/api/statistics?series=origins&interval=hour", { token: operator });
    assert.deepEqual(all.body.result.origins, []);
  });

  it("are bounded: invented origins displace no busy one, and a row stores at most 4,096 characters of them", () => {
    const tally = new Tally();
    for (let n = 0; n < 1_000; n += 1) {
      tally.countOrigin(`https://${n}.example`);
      for (const busy of ["https://a.example", "https://b.example"]) tally.countOrigin(busy);
    }
    assert.equal(tally.origins.size, 100);
    const read = Tally.read(tally.write(16_384));
    assert.deepEqual(
      [...read.origins].slice(0, 2),
      ["https://a.example", "https://b.example"].map((origin) => [origin, 1_000]),
    );
    const merged = new Tally();
    for (let n = 0; n < 20; n += 1) {
      const other = new Tally();
      for (let each = 0; each < 100; each += 1) other.countOrigin(`https://${"x".repeat(100)}.${n}.${each}.example`);
      for (let calls = 0; calls < 2; calls += 1) other.countOrigin("https://a.example");
      merged.merge(Tally.read(other.write(16_384)));
    }
    assert.equal(merged.origins.size, 100);
    assert.equal(merged.origins.get("https://a.example"), 40);
    const characters = [...Tally.read(merged.write(65_536)).origins.keys()].join("").length;
    assert.ok(characters > 3_000 && characters <= 4_096, `${characters}`);
    const earlier = new Tally().write(16_384).subarray(0, -2);
    assert.equal(Tally.read(earlier).origins.size, 0);
  });
});

// spec/operators#listed-applications
describe("GET /_/api/applications?include=activity", () => {
  it("returns the calls, errors, devices and users of each application, by hour, also after compaction", async () => {
    await test.app.statistics.save(); // the clock has advanced
    const name = `active ${test.now()}`;
    const { appid, appkey } = await test.createApplication(name);
    const idle = await test.createApplication(`${name} not`);
    const find = async () => {
      const { pageResults } = await ask(`?include=activity&namePrefix=${encodeURIComponent(name)}`);
      return pageResults.map(({ activity }: { activity: unknown }) => activity);
    };
    const none = { count: 0, isExact: true };
    const hours = (...latest: number[]) => [...Array(24 - latest.length).fill(0), ...latest];
    const nothing = { callsPerMinute: 0, calls: 0, errors: 0, hours: hours(0), devices: none, users: none };
    assert.deepEqual(await find(), [nothing, nothing]);

    await test.signUp("Jane", { appid, appkey });
    const token = await register(appid, appkey);
    await test.call("GET /users/me", { token });
    await test.app.statistics.save();
    const some = { count: 2, isExact: true };
    const active = { callsPerMinute: 0.27, calls: 4, errors: 1, hours: hours(4), devices: some };
    assert.deepEqual(await find(), [{ ...active, users: { count: 1, isExact: true } }, nothing]);

    test.advance(hourMs);
    await test.app.statistics.save(); // the operator's earlier calls
    await compactStatistics(appid, test.now(), test.app.database);
    await test.call("GET /devices/current", { token });
    await test.app.statistics.save();
    const [later] = await find();
    assert.deepEqual([later.callsPerMinute, later.calls, later.hours], [0.07, 5, hours(4, 1)]);
    test.advance(23 * hourMs);
    assert.deepEqual((await find())[0].hours, [1, ...Array(23).fill(0)]);

    const many = { application_id: idle.appid, kind: "users" as const, counted: 5_000, counted_at: test.now() };
    await updateTotals(idle.appid, test.now(), test.app.database);
    await test.app.database.write(({ queries }) =>
      queries
        .updateTable("kept_counts")
        .set(many)
        .where("application_id", "=", idle.appid)
        .where("kind", "=", "users")
        .execute(),
    );
    assert.deepEqual((await find())[1].users, { count: 5_000, isExact: false });
    assert.equal((await ask(`?namePrefix=${encodeURIComponent(name)}`)).pageResults[0].activity, undefined);
  });
});

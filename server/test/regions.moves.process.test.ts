import assert from "node:assert/strict";
import { once } from "node:events";
import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { openSnapshot } from "../src/db/open.ts";
import { type Answer, assertError, assertResult } from "./harness.ts";
import { createRegions, type Fault, type TestRegion } from "./regions.ts";
import { killRunningServers } from "./running-server.ts";
import { dataPart, formHeaders, formOf } from "./uploads.ts";

/**
 * An application moves between real deployments while connections and processes fail
 * (spec/regions#moving-what-clients-see).
 */

let main: TestRegion;
let eu: TestRegion;
let us: TestRegion;
let remove: () => Promise<void>;
before(async () => {
  const made = await createRegions(["main", "eu", "us"]);
  ({ main, eu, us } = made.regions);
  remove = made.remove;
  await Promise.all([main, eu, us].map((region) => region.start()));
});
after(async () => {
  killRunningServers();
  await remove();
});

interface Inhabited {
  readonly appid: string;
  readonly appkey: string;
  readonly userId: string;
  readonly checkinId: string;
  readonly blobId: string;
}

const credentials = { username: "Jäne", password: "correct horse" };

/** Creates an application with a user and data, in a region. */
async function createInhabited(region: TestRegion): Promise<Inhabited> {
  const application: Pick<Inhabited, "appid" | "appkey"> = JSON.parse(
    await main.printed("apps", "create", "--name", "Moving", "--region", region.name, "--json"),
  );
  const device = await register(region, application);
  const { id, accessToken: token } = (
    await region.call("POST /users", { token: device.body.result.accessToken, body: credentials })
  ).body.result;
  const checkin = await region.call("POST /checkins", { token, body: { location: "1,2", comment: "here" } });
  const body = formOf([dataPart(bytes)]);
  const blob = await region.call("POST /blobs", { token, body, headers: formHeaders });
  assert.equal(blob.status, 201, blob.text);
  return { ...application, userId: id, checkinId: checkin.body.result.id, blobId: blob.body.result.id };
}

const bytes = Buffer.alloc(300_000, "bytes of a blob ");

function register(region: TestRegion, { appid, appkey }: Pick<Inhabited, "appid" | "appkey">): Promise<Answer> {
  return region.call("POST /devices", { body: { appid, appkey, platform: "test" } });
}

/** Signs in a client that starts at this region. @returns its user token */
async function signIn(region: TestRegion, application: Inhabited): Promise<string> {
  const device = await register(region, application);
  assert.equal(device.status, 201, device.text);
  const { accessToken: token, serviceRoot } = device.body.result;
  const home = [eu, us].find(({ root }) => root === serviceRoot) ?? main;
  const login = await home.call("POST /users/login", { token, body: credentials });
  assert.equal(login.status, 200, login.text);
  assert.equal(login.body.result.id, application.userId);
  return login.body.result.accessToken;
}

async function assertServed(region: TestRegion, token: string, { checkinId, blobId }: Inhabited): Promise<void> {
  const read = await region.call(`GET /checkins/${checkinId}`, { token });
  assert.deepEqual([read.status, read.body.result?.comment], [200, "here"]);
  const file = await region.call(`GET /blobs/${blobId}/file`, { token });
  assert.deepEqual([file.status, file.text === bytes.toString()], [200, true]);
}

const moving = "The application is moving to another region. Try again.";

async function assertMoving(region: TestRegion, token: string | undefined, application: Inhabited): Promise<void> {
  const answers = [await register(region, application)];
  if (token !== undefined) answers.push(await region.call("GET /users/me", { token }));
  for (const answer of answers) {
    assertError(answer, 503, "ServiceUnavailable", 1284, moving);
    assert.equal(answer.headers["retry-after"], "10");
  }
}

async function assertRemote(region: TestRegion, token: string, host: TestRegion): Promise<void> {
  const { status, body } = await region.call("GET /users/me", { token });
  const { request_id } = body;
  const [error, message] = ["AuthAccessTokenInvalid", "Incorrect token type. The token belongs to another region."];
  const expected = {
    status: 401,
    error,
    errorNumber: 261,
    message,
    serviceRoot: host.root,
    request_id,
    success: false,
  };
  assert.deepEqual([status, body], [401, expected]);
}

const withoutApplication = new Set([
  ...["schema_migrations", "audit_log", "leases", "region_nonces"],
  ...["operators", "operator_sessions", "server_processes", "deployment_facts"],
]);

/** Lists the rows and bytes of an application. */
async function leftIn(region: TestRegion, appid: string): Promise<string[]> {
  const snapshot = await openSnapshot(region.settings["DATABASE_URL"] ?? "");
  const left: string[] = [];
  for (const table of snapshot.tables) {
    if (withoutApplication.has(table)) continue;
    for await (const _ of snapshot.rows(table, { application_id: appid })) left.push(table);
  }
  await snapshot.close();
  const folder = join(region.folder, "files", appid);
  return existsSync(folder) ? [...left, ...readdirSync(folder)] : left;
}

// spec/regions#moving-what-clients-see, spec/regions#moving-what-is-copied
describe("a move", () => {
  it("copies everything except tokens, after which the old region stores only the name of the new one", async () => {
    const application = await createInhabited(main);
    const { appid } = application;
    await main.printed("apps", "secret", "set", appid);
    const signedBefore = (await register(main, application)).body.result.serverSignature;
    await main.printed("apps", "secret", "delete", appid, "--yes");
    const token = await signIn(main, application);
    assert.equal(await main.printed("apps", "move", appid, "--region", "eu"), `moved ${appid} to eu\n`);

    await assertRemote(main, token, eu);
    const registered = await register(main, application);
    const { accessToken, accessTokenExpires } = registered.body.result;
    assertResult(registered, 201, { accessToken, accessTokenExpires, serviceRoot: eu.root });
    await assertServed(eu, await signIn(main, application), application);
    assert.deepEqual(await leftIn(main, appid), ["application_regions"]);
    assert.match(await main.printed("apps", "list"), new RegExp(`${appid}\t\t\telsewhere\teu\n`));
    assert.match(await eu.printed("apps", "list"), new RegExp(`${appid}\tMoving\t[^\t]+\tactive\teu\n`));
    assert.match(signedBefore, /^[0-9a-f]{64}$/);

    // The way back: tokens that were issued here before the move stay revoked.
    const tokenOfEu = await signIn(eu, application);
    await eu.printed("apps", "secret", "set", appid);
    const signed = (await register(eu, application)).body.result.serverSignature;
    const moved = await eu.printed("apps", "move", appid, "--region", "main", "--json");
    assert.deepEqual(JSON.parse(moved), { appid, region: "main" });
    const dead = await main.call("GET /users/me", { token });
    assertError(dead, 401, "AuthAccessTokenInvalid", 261, "Incorrect token type.");
    await assertRemote(eu, tokenOfEu, main);
    const again = (await register(eu, application)).body.result;
    assert.deepEqual([again.serviceRoot, again.serverSignature], [main.root, signed]);
    assert.equal((await main.call("GET /devices/current", { token: again.accessToken })).status, 200);
    assert.equal((await register(main, application)).body.result.serviceRoot, undefined);
    await main.printed("apps", "secret", "delete", appid, "--yes");
    await assertServed(main, await signIn(main, application), application);
    assert.deepEqual(await leftIn(eu, appid), ["application_regions"]);
  });

  it("is not imported into a region while another region serves it", async () => {
    const { appid } = await createInhabited(main);
    const file = join(main.folder, "exported.tar");
    await main.printed("apps", "export", appid, file, "--fast");
    const { code, stderr } = await eu.run("apps", "import", file);
    assert.notEqual(code, 0);
    assert.match(stderr, new RegExp(`${appid} lives in the region main: delete it there before you import it here`));
    assert.deepEqual(await leftIn(eu, appid), []);
    await main.printed("apps", "delete", appid, "--yes");
    const imported = await eu.run("apps", "import", file);
    assert.equal(imported.code, 0, imported.stderr);
  });

  it("preserves every answered write of clients that write during the move", async () => {
    const application = await createInhabited(main);
    const token = await signIn(main, application);
    const answered: string[] = [];
    let hasBegun = false;
    async function write(client: number): Promise<number> {
      for (let n = 0; ; n += 1) {
        const comment = `${client}-${n}`;
        const { status } = await main.call("POST /checkins", { token, body: { location: "1,2", comment } });
        if (status !== 201) return status;
        answered.push(comment);
        hasBegun = true;
      }
    }
    const writing = Promise.all([1, 2, 3, 4].map(write));
    while (!hasBegun) await sleep(5);
    await main.printed("apps", "move", application.appid, "--region", "eu");
    assert.deepEqual(
      (await writing).filter((status) => status !== 503),
      [],
    );
    const there = new Set<string>();
    const home = await signIn(eu, application);
    let path = "/checkins?pageSize=1000";
    while (path !== "") {
      const { result } = (await eu.call(`GET ${path}`, { token: home })).body;
      for (const { comment } of result.pageResults) there.add(comment);
      path = result.nextToken === undefined ? "" : `/checkins?pagingToken=${result.nextToken}`;
    }
    assert.deepEqual(
      answered.filter((comment) => !there.has(comment)),
      [],
    );
    assert.ok(answered.length > 0);
  });
});

describe("an interrupted move", () => {
  it("does not remove the application from its region unless it is committed, and the next move succeeds", async () => {
    const application = await createInhabited(eu);
    const { appid } = application;
    const token = await signIn(eu, application);
    const faults: [region: TestRegion, fault: Fault][] = [
      [main, { name: "findRegion", how: "not sent" }],
      [us, { name: "makeRoom", how: "unanswered" }],
      [us, { name: "takeIn", how: "broken off" }],
      [us, { name: "takeIn", how: "unanswered" }],
    ];
    for (const [region, fault] of faults) {
      const broken = region.breakCalls(fault);
      const { code, stdout } = await eu.run("apps", "move", appid, "--region", "us");
      assert.deepEqual([code, stdout, broken.isHit()], [1, "", true], `${fault.name} ${fault.how}`);
      broken.mend();
      await assertServed(eu, token, application);
      assert.equal((await register(main, application)).body.result.serviceRoot, eu.root);
    }
    assert.equal(await eu.printed("apps", "move", appid, "--region", "us"), `moved ${appid} to us\n`);
    await assertServed(us, await signIn(main, application), application);
    await assertRemote(eu, token, us);
  });

  it("continues in the next run once it is committed, and no region serves the application until then", async () => {
    const application = await createInhabited(eu);
    const { appid } = application;
    let [from, to] = [eu, us];
    const faults: [region: TestRegion | "to", fault: Fault][] = [
      [main, { name: "setRegion", how: "never answered" }],
      ["to", { name: "openApplication", how: "stalled" }],
      ["to", { name: "openApplication", how: "never answered" }],
    ];
    for (const [where, fault] of faults) {
      const token = await signIn(main, application);
      const broken = (where === "to" ? to : where).breakCalls(fault);
      assert.equal((await from.run("apps", "move", appid, "--region", to.name)).code, 1, `${fault.name} ${fault.how}`);
      assert.ok(broken.isHit());
      await assertMoving(from, token, application);
      if (fault.how === "stalled") {
        await assertMoving(to, undefined, application);
        await assertMoving(main, undefined, application);
        const cancelled = await from.run("apps", "move", appid, "--cancel");
        assert.match(cancelled.stderr, /already: run apps move again to finish it/);
      }
      broken.mend();
      await from.printed("apps", "move", appid, "--region", to.name);
      await assertRemote(from, token, to);
      await assertServed(to, await signIn(main, application), application);
      await assertServed(to, await signIn(from, application), application);
      [from, to] = [to, from];
    }
  });

  it("can be run again or cancelled after a kill", async () => {
    const application = await createInhabited(main);
    const { appid } = application;
    const token = await signIn(main, application);
    const stalled = eu.breakCalls({ name: "takeIn", how: "stalled" });
    const moved = main.begin("apps", "move", appid, "--region", "eu");
    while (!stalled.isHit()) await sleep(10);
    await assertMoving(main, token, application);
    moved.kill("SIGKILL");
    await once(moved, "exit");
    await assertMoving(main, token, application);
    assert.equal(await main.printed("apps", "move", appid, "--cancel"), `${appid} stays in main\n`);
    await assertServed(main, token, application);

    const stalledAgain = eu.breakCalls({ name: "takeIn", how: "stalled" });
    const ended = main.begin("apps", "move", appid, "--region", "eu");
    while (!stalledAgain.isHit()) await sleep(10);
    ended.kill("SIGINT");
    const [code] = await once(ended, "exit");
    assert.equal(code, 2);
    await assertServed(main, token, application);
    stalledAgain.mend();
  });
});

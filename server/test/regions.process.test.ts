import assert from "node:assert/strict";
import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { openSnapshot } from "../src/db/open.ts";
import { type Answer, assertError, assertResult } from "./harness.ts";
import { createRegions, type TestRegion } from "./regions.ts";
import { killRunningServers, type RunningServer } from "./running-server.ts";
import { dataPart, formHeaders, formOf } from "./uploads.ts";

/**
 * Two real deployments with separate databases, and an unreachable third one
 * (spec/regions#registration-in-another-region).
 */

let main: TestRegion;
let eu: TestRegion;
let us: TestRegion;
let remove: () => Promise<void>;
let runningMain: RunningServer;
let runningEu: RunningServer;
let application: Credentials;
type Credentials = { readonly appid: string; readonly appkey: string };

before(async () => {
  const made = await createRegions(["main", "eu", "us"]);
  ({ main, eu, us } = made.regions);
  remove = made.remove;
  // It does not have the secret that the others share.
  const keys = JSON.parse(await main.printed("regions", "key", "--region", "eu", "--json"));
  [runningMain, runningEu] = await Promise.all([main.start(), eu.start(keys)]);
  application = await createIn("eu");
});
after(async () => {
  killRunningServers();
  await remove();
});

async function createIn(region: string): Promise<Credentials> {
  return JSON.parse(await main.printed("apps", "create", "--name", "Remote", "--region", region, "--json"));
}

const wrongKey = "The application id or the application key is wrong. Check the values of appid and appkey.";

function register(region: TestRegion, body: object): Promise<Answer> {
  return region.call("POST /devices", { body: { platform: "test", ...body } });
}

async function tokenOf(region: TestRegion, body: object = application): Promise<string> {
  return (await register(region, body)).body.result.accessToken;
}

function assertRemote(answer: Answer, serviceRoot: string): void {
  const { request_id } = answer.body;
  const [error, message] = ["AuthAccessTokenInvalid", "Incorrect token type. The token belongs to another region."];
  const body = { status: 401, error, errorNumber: 261, message, serviceRoot, request_id, success: false };
  assert.deepEqual([answer.status, answer.body], [401, body]);
}

// spec/regions#region-keys
describe("rollcall regions key", () => {
  it("prints the same REGION_SECRET for a region every time, and refuses invalid names", async () => {
    const printed = await main.printed("regions", "key", "--region", "us");
    assert.match(printed, /^REGION_SECRET=key:main:[\w-]{43},key:eu:[\w-]{43}\n$/);
    assert.equal(await main.printed("regions", "key", "--region", "us"), printed);
    const unknown = await main.run("regions", "key", "--region", "mars");
    assert.equal(unknown.code, 2);
    assert.match(unknown.stderr, /^REGIONS names no region mars\n/);
  });
});

// spec/regions#registration-through-main
describe("an application of a remote region", () => {
  it("registers devices at the main region, which answers with serviceRoot, and at its own", async () => {
    for (const region of [main, eu]) {
      const answer = await register(region, { ...application, uniqueId: "the one device" });
      const { accessToken, accessTokenExpires } = answer.body.result;
      assertResult(answer, 201, { accessToken, accessTokenExpires, serviceRoot: eu.root });
      assert.match(accessToken, /^eu\./);
      const device = await eu.call("GET /devices/current", { token: accessToken });
      assert.equal(device.body.result.uniqueId, "the one device");
    }
  });

  it("accepts unknown parameters as in its own region, and is logged there under the main region's request_id", async () => {
    const strange = `{"appid":"${application.appid}","appkey":"${application.appkey}","platform":"test","x":1e400,
      "y":[1e400],"z":12345678901234567890,"__proto__":{"a":1},"":null,"n":${"[".repeat(500)}${"]".repeat(500)}}`;
    for (const region of [main, eu]) {
      const { status, body } = await region.call("POST /devices", { body: strange });
      assert.equal(status, 201, JSON.stringify(body));
      if (region === eu) continue;
      const line = new RegExp(
        `"request_id":"${body.request_id}","method":"POST","path":"/devices","operation":"registerDevice"`,
      );
      while (!line.test(runningEu.output())) await sleep(20);
    }
    const form = `appid=${application.appid}&appkey=${application.appkey}&platform=a%20b&x=%ff&%ff=1`;
    const headers = { "content-type": "application/x-www-form-urlencoded" };
    assert.equal((await main.call("POST /devices", { body: form, headers })).status, 201);
  });

  it("answers with the errors of its own region; unknown and local applications answer with the usual errors", async () => {
    for (const region of [main, eu]) {
      const wrong = await register(region, { ...application, appkey: "rk_wrong" });
      assertError(wrong, 401, "AuthAppCredentialsInvalid", 261, wrongKey);
    }
    const local = await createIn("main");
    const { accessToken, accessTokenExpires } = (await register(main, local)).body.result;
    assert.match(accessToken, /^main\./);
    assert.ok(accessTokenExpires);
    assertError(await register(eu, local), 401, "AuthAppCredentialsInvalid", 261, wrongKey);
    const nobody = { ...application, appid: application.appid.replace(/.$/, (end) => (end === "0" ? "1" : "0")) };
    assertError(await register(main, nobody), 401, "AuthAppCredentialsInvalid", 261, wrongKey);
    assertError(
      await register(main, { ...application, appid: "app_1" }),
      401,
      "ParameterOutOfRange",
      514,
      "Incorrect id type, expected App.",
    );
  });

  it("has its limits and disabled operations enforced at the main region", async () => {
    await eu.printed("apps", "suspend", application.appid);
    const refused = await register(main, application);
    assertError(refused, 403, "AuthAPICallDisabledByDeveloper", 257, "The application is suspended.");
    await eu.printed("apps", "resume", application.appid);
    assert.equal((await register(main, application)).status, 201);
  });

  it("registers once in a batch of the main region, with any other items", async () => {
    const local = await createIn("main");
    const token = await tokenOf(main, local);
    const item = (method: string, path: string, parameters: object) => ({ method, path, parameters });
    const requests = [
      item("PATCH", "/devices/current", { tag: "before" }),
      item("POST", "/devices", { platform: "test", ...application, uniqueId: "in a batch" }),
      item("PATCH", "/devices/current", { tag: "behind" }),
      item("POST", "/devices", { platform: "test", ...application, appkey: "rk_wrong" }),
    ];
    for (const mode of ["independent", "sequential", "atomic"]) {
      const items = mode === "atomic" ? requests.slice(0, 3) : requests;
      const { body } = await main.call("POST /batch", { token, body: { requests: items, mode } });
      const statuses = body.result.responses.map(({ status }: Answer) => status);
      assert.deepEqual(statuses, [200, 201, 200, 401].slice(0, items.length), mode);
      assert.equal(body.result.responses[1].result.serviceRoot, eu.root);
    }
  });

  it("cannot register in a batch with an Idempotency-Key, because main would store the response", async () => {
    const token = await tokenOf(main, await createIn("main"));
    const requests = [{ method: "POST", path: "/devices", parameters: { platform: "test", ...application } }];
    const headers = { "idempotency-key": "kept" };
    const { body } = await main.call("POST /batch", { token, body: { requests }, headers });
    const [{ status, error, message, serviceRoot }] = body.result.responses;
    assert.deepEqual([status, error, serviceRoot], [400, "ParameterOutOfRange", eu.root]);
    assert.match(message, /^appid: a batch with an Idempotency-Key, .* cannot register with the region eu\.$/);
  });
});

describe("an application that was created in a remote region", () => {
  it("is registered in main by the operator, if it exists", async () => {
    const made: Credentials = JSON.parse(await eu.printed("apps", "create", "--name", "Local", "--json"));
    assert.equal((await register(main, made)).status, 401);
    const { appid } = made;
    assert.equal(await main.printed("apps", "locate", appid, "--region", "eu"), `${appid} is in eu\n`);
    assert.equal((await register(main, made)).body.result.serviceRoot, eu.root);
    const local = await createIn("main");
    const { code, stderr } = await main.run("apps", "locate", local.appid, "--region", "eu");
    assert.deepEqual([code, stderr.split("\n")[0]], [2, `the region eu serves no application ${local.appid}`]);
    const refused = await eu.run("apps", "locate", appid, "--region", "us");
    assert.match(refused.stderr, /^apps locate must run in the region main, but REGION is eu/);
  });
});

// spec/regions#tokens-of-another-region
describe("a token of another region", () => {
  it("is refused with its serviceRoot on every operation, also in a batch and if it is forged", async () => {
    const token = await tokenOf(main);
    for (const operation of ["GET /devices/current", "GET /users/me", "POST /users", "POST /batch", "GET /checkins"]) {
      assertRemote(await main.call(operation, { token }), eu.root);
    }
    assertRemote(await main.call("GET /users/me", { token: "eu.made_up" }), eu.root);
    assertRemote(await main.call(`GET /pictures/x/file?accessToken=${token}`), eu.root);
    assertRemote(await eu.call("GET /users/me", { token: await tokenOf(main, await createIn("main")) }), main.root);
    const unknown = await main.call("GET /users/me", { token: "mars.token" });
    assertError(unknown, 401, "AuthAccessTokenInvalid", 261, "Incorrect token type.");
  });
});

// spec/regions#unreachable-regions, spec/regions#creating-remote-applications
describe("an unreachable region", () => {
  it("leads to ServiceUnavailable with Retry-After, and the creation of an application may be incomplete", async () => {
    const { code, stdout, stderr } = await main.run("apps", "create", "--name", "Nowhere", "--region", "us");
    assert.deepEqual([code, stdout], [1, ""]);
    const [, appid = ""] = /apps delete (app_\w+) --yes/.exec(stderr) ?? [];
    assert.match(stderr, /The region us cannot be reached/);
    const { body } = await register(main, { appid, appkey: "rk_wrong" });
    assert.deepEqual([body.status, body.error, body.errorNumber], [503, "ServiceUnavailable", 1284]);
    assert.equal((await register(main, { appid, appkey: "rk_wrong" })).headers["retry-after"], "1");
    assert.match(await main.printed("apps", "list"), new RegExp(`${appid}\t\t\tbeing made\tus\n`));
    assert.equal((await main.run("apps", "delete", appid, "--yes")).code, 1);

    const running = await us.start();
    assert.equal(await main.printed("apps", "delete", appid, "--yes"), `deleted ${appid}\n`);
    assert.ok(!(await main.printed("apps", "list")).includes(appid));
    await running.end("SIGKILL");
  });

  it("creates the application at most once if its response is lost", async () => {
    const broken = eu.breakCalls({ name: "createApplication", how: "unanswered" });
    const { code, stderr } = await main.run("apps", "create", "--name", "Lost", "--region", "eu");
    assert.equal(code, 1);
    broken.mend();
    const [, appid = ""] = /apps delete (app_\w+) --yes/.exec(stderr) ?? [];
    assert.match(await eu.printed("apps", "list"), new RegExp(appid));
    await main.printed("apps", "delete", appid, "--yes");
    for (const region of [main, eu]) {
      const listed = JSON.parse(await region.printed("apps", "list", "--json"));
      assert.ok(
        listed.every((row: { appid: string; state: string }) => row.appid !== appid || row.state === "being deleted"),
      );
    }
  });
});

// spec/regions#data-residency
describe("the data of a remote application in main", () => {
  it("is its id and region only, in every table, every file and the log", async () => {
    const personal = {
      uniqueId: "unique-id-of-a-phone",
      tag: "tag-of-a-phone",
      pushToken: "push-token-of-a-phone",
      model: "model-of-a-phone",
      username: "name-of-a-user",
      email: "somebody@people.example",
      comment: "comment-on-a-place",
      location: "48.123456,16.654321",
      address: "203.0.113.77",
      password: "pass-phrase-of-a-user",
    };
    const { uniqueId, tag, pushToken, model, username, email, comment, location, password } = personal;
    const headers = { "x-forwarded-for": personal.address };
    const device = { platform: "test", ...application, uniqueId, tag, pushToken, model, location };
    const answer = await main.call("POST /devices", { body: device, headers });
    assert.equal(answer.status, 201);
    const device_token = answer.body.result.accessToken;
    const wrong = await main.call("POST /devices", { body: { ...device, appkey: "rk_wrong" }, headers });
    assert.equal(wrong.status, 401);
    const user = { username, email, password, location };
    for (const region of [main, eu]) {
      const created = await region.call("POST /users", { token: device_token, body: user, headers });
      assert.equal(created.status, region === eu ? 200 : 401); // main refuses the request before it reads the body
      const token = created.body.result?.accessToken ?? device_token;
      await region.call("POST /checkins", { token, body: { location, comment }, headers });
      await region.call("PUT /metadata/me/a", { token, body: { value: comment }, headers });
      await region.call("POST /users/login", { token: device_token, body: { username, password: "wrong" }, headers });
      const parts = formOf([dataPart(comment)]);
      await region.call("POST /blobs", { token, body: parts, headers: { ...headers, ...formHeaders } });
    }
    await runningMain.end("SIGTERM");

    const snapshot = await openSnapshot(main.settings["DATABASE_URL"] ?? "");
    let text = "";
    for (const table of snapshot.tables) {
      for await (const row of snapshot.rows(table)) {
        for (const value of Object.values(row))
          text += value instanceof Uint8Array ? `${Buffer.from(value)}\n` : `${value}\n`;
      }
    }
    await snapshot.close();
    assert.ok(text.includes(application.appid), "the scan finds the application id");
    const files = readdirSync(main.folder, { recursive: true, encoding: "utf8" })
      .map((name) => join(main.folder, name))
      .filter((name) => statSync(name).isFile());
    const everything = [text, ...files.map((name) => readFileSync(name, "latin1")), runningMain.output()].join("\n");
    const secrets = { device_token, appkey: application.appkey, lat: "48.123", lng: "16.654" };
    for (const [what, value] of Object.entries({ ...personal, ...secrets })) {
      assert.ok(!everything.includes(value), `${what} was written in main`);
    }
    assert.match(runningMain.output(), /"operation":"registerDevice"/);
    runningMain = await main.start();
  });
});

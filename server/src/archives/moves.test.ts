import assert from "node:assert/strict";
import { Readable } from "node:stream";
import { after, before, describe, it } from "node:test";
import { sql } from "kysely";
import { putTogether, splitArchive, withLines } from "../../test/forged-archives.ts";
import { readTables } from "../../test/full-application.ts";
import { assertError, startTestApp, type TestApp } from "../../test/harness.ts";
import { startProxy } from "../../test/regions.ts";
import { dataPart, upload } from "../../test/uploads.ts";
import { maintain } from "../app/maintenance.ts";
import { deletionHandler } from "../applications/applications.remote.ts";
import { noProgress } from "../cli/progress.ts";
import { commands } from "../cli/run.ts";
import { movingError } from "../contract/policy.ts";
import { originalKey } from "../files/files.uploads.ts";
import { findApplicationRegion, putApplicationRegion } from "../regions/regions.directory.store.ts";
import { loadGuardedSettings, updateApplicationSettings } from "../tenancy/application-settings.ts";
import { archiveApplication } from "./export-application.ts";
import { cancelMove, finishMove, MoveRefused, moveApplication } from "./moves.export.ts";
import { findPresence, markMoving, unmarkMoving } from "./moves.store.ts";

/** Moves between two servers in one process; `test/regions.moves.process.test.ts` has separate processes. */

let main: TestApp;
let eu: TestApp;
let mainProxy: Awaited<ReturnType<typeof startProxy>>;
let euProxy: typeof mainProxy;
before(async () => {
  [mainProxy, euProxy] = await Promise.all([startProxy(), startProxy()]);
  const settings = {
    REGIONS: `main=${mainProxy.root},eu=${euProxy.root}`,
    REGION_SECRET: "a secret between regions",
  };
  main = await startTestApp(settings);
  eu = await startTestApp({ ...settings, REGION: "eu", ROLLCALL_SECRET: "a secret of that region" });
  mainProxy.sendTo(main.port);
  euProxy.sendTo(eu.port);
});
after(async () => {
  await main.close();
  await eu.close();
  for (const proxy of [mainProxy, euProxy]) proxy.close();
});

function servicesOf({ app, config }: TestApp) {
  return { ...app, ...config, secrets: config.secrets ?? [] };
}

/** Creates an application in the region eu that is registered in the main region. */
async function createInEu() {
  const application = await eu.createApplication();
  const row = { application_id: application.appid, region: "eu", state: "there", changed_at: 0 } as const;
  await main.app.database.write(({ queries }) => putApplicationRegion(row, queries));
  return application;
}

// spec/regions#moving-operators, spec/regions#moving-cleanup
describe("moveApplication", () => {
  it("exports the mail server, sealed with the secret of the other region", async () => {
    const { appid } = await main.createApplication();
    const mail = { smtpUrl: "smtps://someone:s3cret@mail.example" };
    const { settings, sealed } = main.app.settingsSealer.seal(appid, { oidc: {}, mail }, null);
    await main.app.database.write(({ queries }) => updateApplicationSettings(appid, settings, queries, { sealed }));
    await moveApplication(appid, "eu", servicesOf(main));
    const arrived = await loadGuardedSettings(appid, eu.app.database.reads);
    assert.ok(!JSON.stringify(arrived).includes("s3cret"));
    assert.deepEqual(eu.app.settingsSealer.open(appid, arrived).settings, { oidc: {}, mail });
  });

  it("a committed move is completed by maintenance, and tokens that were valid here are refused immediately", async () => {
    const application = await main.createApplication();
    const { appid } = application;
    const { token } = await main.signUp("Jane", application);
    const services = servicesOf(main);
    const lost = { ...services.regionCalls, call: failAt("openApplication", services.regionCalls.call) };
    await assert.rejects(moveApplication(appid, "eu", { ...services, regionCalls: lost }), /no answer/);
    const refused = await main.call("GET /users/me", { token });
    assertError(refused, 503, "ServiceUnavailable", 1284, "The application is moving to another region. Try again.");
    await assert.rejects(cancelMove(appid, services), MoveRefused);
    // spec/operators#listed-applications: one is on its way in main, and is being imported in eu
    const listed = async (region: TestApp, state: string) => {
      const { token: operator } = await region.createOperator();
      const answer = await region.call(`GET /_/api/applications?state=${state}`, { token: operator });
      const rows: { id: string; movingTo?: string; isBeingImported?: true }[] = answer.body.result.pageResults;
      return rows.filter(({ id }) => id === appid).map(({ movingTo, isBeingImported }) => [movingTo, isBeingImported]);
    };
    assert.deepEqual([await listed(main, "moving"), await listed(main, "importing")], [[["eu", undefined]], []]);
    assert.deepEqual([await listed(eu, "moving"), await listed(eu, "importing")], [[], [["eu", true]]]);

    await maintain(main.app);
    const gone = await main.call("GET /users/me", { token });
    assert.deepEqual([gone.status, gone.body.serviceRoot], [401, euProxy.root]);
    assert.equal(await findPresence(appid, main.app.database.reads), undefined);
    assert.deepEqual(await findPresence(appid, eu.app.database.reads), { deleted_at: null, moving_to: null });
    await moveApplication(appid, "eu", services); // already moved
  });

  it("serves an application here again if the other region has lost it", async () => {
    const application = await main.createApplication();
    const { appid } = application;
    const { token } = await main.signUp("Jane", application);
    const services = servicesOf(main);
    const lost = { ...services.regionCalls, call: failAt("openApplication", services.regionCalls.call) };
    await assert.rejects(moveApplication(appid, "eu", { ...services, regionCalls: lost }), /no answer/);
    await services.regionCalls.call("eu", "dropApplication", { appid }).catch(() => {});
    await assert.rejects(moveApplication(appid, "eu", services), /the region eu has lost .* it is served here again/);
    assert.equal((await main.call("GET /users/me", { token })).status, 200);
  });

  for (const [when, isAskedFirst] of Object.entries({ "before it came back": true, "when it was back": false })) {
    it(`has no effect on the next move if a late attempt to finish checked ${when}`, async () => {
      const { appid } = await main.createApplication();
      const services = servicesOf(main);
      const { regionCalls } = services;
      const ask = regionCalls.call;
      const unasked = { ...regionCalls, call: failAt("openApplication", ask) };
      await assert.rejects(moveApplication(appid, "eu", { ...services, regionCalls: unasked }), /no answer/);
      const unheard: typeof regionCalls = {
        ...regionCalls,
        async call(region, name, message) {
          const answer = await ask(region, name, message);
          if (name === "openApplication") throw new Error("no answer");
          return answer;
        },
      };
      const late: typeof regionCalls = {
        ...regionCalls,
        async call(region, name, message) {
          const first = isAskedFirst ? await ask(region, name, message) : undefined;
          await finishMove(appid, services); // another process
          await maintain(main.app);
          await moveApplication(appid, "main", servicesOf(eu));
          const answer = isAskedFirst ? first : await ask(region, name, message);
          main.advance(1);
          await assert.rejects(moveApplication(appid, "eu", { ...services, regionCalls: unheard }), /no answer/);
          return answer;
        },
      };
      await finishMove(appid, { ...services, regionCalls: late }).catch(() => {});
      // The region eu serves the application, and the next move can finish.
      assert.deepEqual(await findPresence(appid, eu.app.database.reads), { deleted_at: null, moving_to: null });
      assert.deepEqual(await findPresence(appid, main.app.database.reads), { deleted_at: null, moving_to: "eu" });
      await maintain(main.app);
      assert.equal(await findPresence(appid, main.app.database.reads), undefined);
    });
  }

  it("does not restore an application that is deleted after a move whose last response was lost", async () => {
    const application = await main.createApplication();
    const { appid, appkey } = application;
    const services = servicesOf(main);
    const { regionCalls } = services;
    const unheard: typeof regionCalls = {
      ...regionCalls,
      async call(region, name, message) {
        const answer = await regionCalls.call(region, name, message);
        if (name === "openApplication") throw new Error("no answer");
        return answer;
      },
    };
    await assert.rejects(moveApplication(appid, "eu", { ...services, regionCalls: unheard }), /no answer/);
    const { token } = await eu.createOperator();
    const path = `DELETE /_/api/applications/${appid}`;
    assert.equal((await eu.call(path, { token, body: { confirm: appid } })).status, 200);
    await maintain(eu.app);
    assert.equal(await findPresence(appid, eu.app.database.reads), undefined);

    await maintain(main.app);
    assert.equal(await findPresence(appid, main.app.database.reads), undefined);
    const registered = await main.call("POST /devices", { body: { appid, appkey, platform: "test" } });
    assert.notEqual(registered.status, 201);
    // The records of the move do not prevent the next one.
    const { reads } = eu.app.database;
    assert.equal(await findApplicationRegion(appid, reads), undefined);
  });

  it("succeeds despite data of an interrupted move in the main region, and erases that data", async () => {
    const { appid, appkey } = await createInEu();
    const services = servicesOf(eu);
    const stopping = new AbortController();
    const regionCalls: typeof services.regionCalls = {
      ...services.regionCalls,
      call: failAt("dropApplication", services.regionCalls.call),
      async send(...given) {
        const answer = await services.regionCalls.send(...given);
        stopping.abort();
        return answer;
      },
    };
    const { signal } = stopping;
    await assert.rejects(moveApplication(appid, "main", { ...services, regionCalls }, { signal }), /aborted/);
    assert.deepEqual(await findPresence(appid, main.app.database.reads), { deleted_at: null, moving_to: "main" });

    const registered = await main.call("POST /devices", { body: { appid, appkey, platform: "test" } });
    assert.deepEqual([registered.status, registered.body.result?.serviceRoot], [201, euProxy.root]);
    const told = { appid, region: "eu", was: "eu" };
    assert.equal(await services.regionCalls.call("main", "setRegion", told), true);
    await maintain(main.app);
    assert.equal(await findPresence(appid, main.app.database.reads), undefined);
    assert.deepEqual(await findPresence(appid, eu.app.database.reads), { deleted_at: null, moving_to: null });
  });

  it("does not erase an application that has arrived until its region is decided", async () => {
    const { appid } = await createInEu();
    const services = servicesOf(eu);
    const lost = { ...services.regionCalls, call: failAt("openApplication", services.regionCalls.call) };
    await assert.rejects(moveApplication(appid, "main", { ...services, regionCalls: lost }), /no answer/);
    await maintain(main.app);
    assert.deepEqual(await findPresence(appid, main.app.database.reads), { deleted_at: null, moving_to: "main" });
    await maintain(eu.app);
    assert.deepEqual(await findPresence(appid, main.app.database.reads), { deleted_at: null, moving_to: null });
  });

  it("prevents the deletion of a moving application in both regions, so that it cannot reappear", async () => {
    const { appid } = await main.createApplication();
    await moveApplication(appid, "eu", servicesOf(main));
    const services = servicesOf(eu);
    const lost = { ...services.regionCalls, call: failAt("openApplication", services.regionCalls.call) };
    await assert.rejects(moveApplication(appid, "main", { ...services, regionCalls: lost }), /no answer/);
    const deletion = () => main.app.regionCalls.call("eu", "deleteApplication", { appid });
    await assert.rejects(deletion(), { condition: "ServiceUnavailable", message: movingError().message });
    await maintain(eu.app);
    assert.deepEqual(await findPresence(appid, main.app.database.reads), { deleted_at: null, moving_to: null });
    await assert.rejects(deletion(), { condition: "ObjectPermissionDenied", message: /moved to the region main/ });
  });

  it("refuses an application that is already there, in another region, being deleted or missing", async () => {
    const { appid } = await main.createApplication();
    const services = servicesOf(main);
    const never = main.app.ids.newId("App");
    await assert.rejects(moveApplication(never, "eu", services), /there is no application/);
    const row = { application_id: never, region: "us", state: "there", changed_at: 0 } as const;
    await main.app.database.write(({ queries }) => putApplicationRegion(row, queries));
    await assert.rejects(moveApplication(never, "eu", services), /it is in the region us/);
    await assert.rejects(cancelMove(appid, services), /is not moving/);
    const twin = { application_id: appid, name: "", token_version: 0, created_at: 0, deleted_at: null };
    await eu.app.database.write(({ queries }) => queries.insertInto("applications").values(twin).execute());
    await assert.rejects(moveApplication(appid, "eu", services), /already exists here/);
    const { reads } = main.app.database;
    assert.deepEqual(await findPresence(appid, reads), { deleted_at: null, moving_to: null });
    assert.equal(await findApplicationRegion(appid, reads), undefined);
  });

  it("never serves an archive that was altered in transit", async () => {
    const application = await main.createApplication();
    const { appid } = application;
    const { token } = await main.signUp("Jane", application);
    await upload(main, token, "/blobs", dataPart(Buffer.alloc(100_000, "a")));
    const services = servicesOf(main);
    const { send } = services.regionCalls;
    for (const alter of [flipByte, dropTail, addTail]) {
      const altering: typeof send = (region, name, subject, bytes) => send(region, name, subject, alter(bytes));
      const regionCalls = { ...services.regionCalls, send: altering };
      await assert.rejects(moveApplication(appid, "eu", { ...services, regionCalls }), /./, alter.name);
      assert.equal((await main.call("GET /users/me", { token })).status, 200);
      assert.notEqual((await findPresence(appid, eu.app.database.reads))?.deleted_at, null);
    }
    // An archive of another application is refused as well.
    const other = await main.createApplication();
    const misnaming: typeof send = (region, name, _subject, bytes) => send(region, name, other.appid, bytes);
    const regionCalls = { ...services.regionCalls, send: misnaming };
    await assert.rejects(moveApplication(appid, "eu", { ...services, regionCalls }), /The archive is of/);
  });

  it("refuses a complete archive if another region includes rows of other applications (hostile.md 39)", async () => {
    const application = await main.createApplication();
    const { appid } = application;
    await main.signUp("Jane", application);
    const victim = await eu.createApplication();
    const { regionCalls } = main.app;
    const pieces = await splitArchive(
      archiveApplication(appid, { ...servicesOf(main), databaseUrl: main.config.databaseUrl }),
    );
    const before = await readTables(eu.config.databaseUrl);
    for (const name of ["APPLICATION_ID", "Application_id", "application_id"]) {
      const forged = withLines(pieces, "application_keys", (lines) =>
        lines.map((line) => line.replace("{", `{"${name}":"${victim.appid}",`)),
      );
      const sent = regionCalls.send("eu", "takeIn", appid, Readable.from(putTogether(forged)));
      await assert.rejects(
        sent,
        { condition: "ParameterIncorrectFormat", message: /^Row 1 of application_keys / },
        name,
      );
      assert.deepEqual(await readTables(eu.config.databaseUrl), before);
    }
  });

  it("refuses an application with missing files, unless the operator accepts their loss", async () => {
    const application = await main.createApplication();
    const { appid } = application;
    const { token } = await main.signUp("Jane", application);
    await upload(main, token, "/blobs", dataPart(Buffer.from("bytes")));
    await main.app.bytes.deleteAll(`${appid}/`); // like a server that uses another store
    const lost = { name: "MoveRefused", message: /1 files have no bytes in the store/ };
    await assert.rejects(moveApplication(appid, "eu", servicesOf(main)), lost);
    assert.equal((await main.call("GET /users/me", { token })).status, 200);
    await moveApplication(appid, "eu", servicesOf(main), { isWithoutLost: true });
    assert.deepEqual(await findPresence(appid, eu.app.database.reads), { deleted_at: null, moving_to: null });
  });

  it("refuses an application if both regions share a store, and does not delete its files", async () => {
    const application = await main.createApplication();
    const { appid } = application;
    const { token } = await main.signUp("Jane", application);
    await upload(main, token, "/blobs", dataPart(Buffer.from("bytes")));
    const { id = "" } =
      (await main.app.database.reads
        .selectFrom("files")
        .select("id")
        .where("application_id", "=", appid)
        .executeTakeFirst()) ?? {};
    const key = originalKey(appid, id);
    await eu.app.bytes.write(key, Readable.from([Buffer.from("bytes")]));
    await assert.rejects(moveApplication(appid, "eu", servicesOf(main)), /each region has its own FILES_URL/);
    assert.equal(await eu.app.bytes.size(key), 5);
    assert.equal((await main.call("GET /users/me", { token })).status, 200);
    await eu.app.bytes.deleteAll(`${appid}/`);
    await moveApplication(appid, "eu", servicesOf(main));
    assert.equal(await eu.app.bytes.size(key), 5);
  });

  it("does not resume a suspended application, and operators cannot change a moving one", async () => {
    const { appid } = await main.createApplication();
    const { token } = await main.createOperator();
    await main.call(`POST /_/api/applications/${appid}/suspend`, { token });
    await main.app.database.write(({ queries }) =>
      queries.updateTable("applications").set({ moving_to: "eu" }).where("application_id", "=", appid).execute(),
    );
    const moving = "The application is moving to another region. Try again.";
    for (const operation of ["POST suspend", "POST resume", "PATCH settings", "GET users", "POST keys"]) {
      const [method, path] = operation.split(" ");
      const answer = await main.call(`${method} /_/api/applications/${appid}/${path}`, { token, body: {} });
      assertError(answer, 503, "ServiceUnavailable", 1284, moving);
    }
    const read = await main.call(`GET /_/api/applications/${appid}`, { token });
    assert.equal(read.body.result.movingTo, "eu");
    await main.app.database.write(({ queries }) => unmarkMoving(appid, queries));
    await moveApplication(appid, "eu", servicesOf(main));
    const remote = await main.call("GET /_/api/applications-elsewhere?pageSize=1000", { token });
    const found = remote.body.result.pageResults.find(({ id }: { id: string }) => id === appid);
    const changed = `/Date(${main.now()})/`;
    assert.deepEqual(found, { id: appid, region: "eu", serviceRoot: euProxy.root, state: "there", changed });
    const newest = await main.call("GET /_/api/applications-elsewhere?pageSize=1000&sortOrder=-created", { token });
    assert.deepEqual(newest.body.result.pageResults, remote.body.result.pageResults.toReversed());
    assert.ok(newest.body.result.pageResults.length > 1);
    const euToken = (await eu.createOperator()).token;
    const { body } = await eu.call(`GET /_/api/applications/${appid}`, { token: euToken });
    assert.equal(typeof body.result.suspended, "string");
  });
});

// spec/console#the-own-sessions
describe("The session of an operator", () => {
  it("names the other regions", async () => {
    const { token } = await main.createOperator();
    const { result } = (await main.call("GET /_/api/sessions/current", { token })).body;
    assert.deepEqual([result.deployment.region, result.deployment.otherRegions], ["main", ["eu"]]);
  });
});

describe("PostgreSQL: operator actions while a move begins", {
  skip: process.env["TEST_DATABASE_URL"] === undefined && "needs PostgreSQL",
}, () => {
  /** Starts `work` while an uncommitted transaction has marked the application as moving. */
  async function beginBesideMark<T>(appid: string, begin: () => Promise<T>): Promise<PromiseSettledResult<T>> {
    let begun: Promise<PromiseSettledResult<T>[]> | undefined;
    await main.app.database.write(async ({ queries }) => {
      await markMoving(appid, "eu", queries);
      begun ??= Promise.allSettled([begin()]);
      let isOver = false;
      begun.then(() => {
        isOver = true;
      });
      while (!isOver && !(await isSomebodyWaiting()));
    });
    const [result] = (await begun) ?? [];
    assert.ok(result);
    return result;
  }

  async function isSomebodyWaiting(): Promise<boolean> {
    const { rows } = await sql`
      select 1 from pg_stat_activity
      where datname = current_database() and wait_event_type = 'Lock'`.execute(main.app.database.reads);
    return rows.length > 0;
  }

  const still = { deleted_at: null, moving_to: "eu" };

  it("are refused over HTTP", async () => {
    const application = await main.createApplication();
    const { appid } = application;
    const { id } = await main.signUp("Jane", application);
    const { token } = await main.createOperator();
    for (const [operation, body] of [
      [`DELETE /_/api/applications/${appid}`, { confirm: appid }],
      [`POST /_/api/applications/${appid}/suspend`, {}],
      [`POST /_/api/applications/${appid}/users/${id}/disable`, {}],
    ] as const) {
      const answered = await beginBesideMark(appid, () => main.call(operation, { token, body }));
      assert.equal(answered.status === "fulfilled" && answered.value.status, 503, operation);
      assert.deepEqual(await findPresence(appid, main.app.database.reads), still);
      await main.app.database.write(({ queries }) => unmarkMoving(appid, queries));
    }
  });

  it("are refused in commands and in the main region", async () => {
    const application = await main.createApplication();
    const { appid } = application;
    const { id } = await main.signUp("Jane", application);
    const deletion = deletionHandler(main.app);
    const notices = { progress: noProgress, warn() {} };
    for (const [name, begin] of Object.entries({
      "apps delete": () => commands["apps delete"]?.(main.config, { yes: true }, [appid], notices),
      "apps suspend": () => commands["apps suspend"]?.(main.config, {}, [appid], notices),
      "users disable": () => commands["users disable"]?.(main.config, {}, [appid, id], notices),
      deletion: () => deletion.answer({ appid }, "main"),
    })) {
      const answered = await beginBesideMark(appid, async () => begin());
      assert.match(`${answered.status === "rejected" && answered.reason}`, /is moving to/, name);
      assert.deepEqual(await findPresence(appid, main.app.database.reads), still);
      await main.app.database.write(({ queries }) => unmarkMoving(appid, queries));
    }
  });
});

/** Makes the calls of this name, and drops their responses. */
function failAt(name: string, call: (region: string, name: string, message: unknown) => Promise<unknown>) {
  return async (region: string, called: string, message: unknown) => {
    if (called === name) throw new Error("no answer");
    return call(region, called, message);
  };
}

type Bytes = AsyncIterable<Uint8Array>;

async function* flipByte(bytes: Bytes) {
  let isDone = false;
  for await (const chunk of bytes) {
    const copy = Buffer.from(chunk);
    if (!isDone) copy[copy.length - 1] = (copy.at(-1) ?? 0) ^ 1;
    isDone = true;
    yield copy;
  }
}

async function* dropTail(bytes: Bytes) {
  let last: Uint8Array | undefined;
  for await (const chunk of bytes) {
    if (last !== undefined) yield last;
    last = chunk;
  }
}

async function* addTail(bytes: Bytes) {
  yield* bytes;
  yield Buffer.alloc(512, 1);
}

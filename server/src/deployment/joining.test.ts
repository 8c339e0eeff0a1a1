import assert from "node:assert/strict";
import { afterEach, describe, it } from "node:test";
import { startTestApp, type TestApp } from "../../test/harness.ts";
import { PlainFailure } from "../config/failure.ts";
import { findFact } from "../db/deployment-facts.ts";
import { saveReport } from "./deployment.processes.store.ts";
import { createSecretRotation } from "./heartbeat.ts";
import { joinDeployment } from "./joining.ts";

const [old, newer] = ["the old secret of the deployment", "the new secret of the deployment"];
const apps: TestApp[] = [];
afterEach(async () => {
  for (const app of apps.splice(0).reverse()) await app.close(); // the first one drops the database
});

/** Starts the first or another process of a deployment, as `serve` does. */
async function start(secrets: string, settings: Readonly<Record<string, string>> = {}): Promise<TestApp> {
  const [first] = apps;
  const database = first && { DATABASE_URL: first.config.databaseUrl };
  const app = await startTestApp({ ROLLCALL_SECRET: secrets, ...database, ...settings });
  apps.push(app);
  await joinDeployment(app.app);
  return app;
}

/** Reports a process, as its heartbeat does. */
async function beat({ app }: TestApp): Promise<void> {
  const own = await app.ownReports.take();
  await app.database.write(({ queries }) => saveReport(own, queries));
  await createSecretRotation(app).advance(own);
}

/** Shuts a process down cleanly, from the perspective of other processes. */
async function end({ app }: TestApp): Promise<void> {
  const own = await app.ownReports.take();
  await app.database.write(({ queries }) => saveReport({ ...own, report: { ...own.report, hasEnded: true } }, queries));
}

/** The response status for a token in each of these processes. */
async function statuses(token: string, at: readonly TestApp[]): Promise<number[]> {
  const answers = await Promise.all(at.map(({ call }) => call("GET /users/me", { token })));
  return answers.map(({ status }) => status);
}

const messages = ({ logLines }: TestApp) => logLines.map(({ msg }) => `${msg}`).filter((msg) => /secret/.test(msg));

describe("a rotation of the secret", () => {
  // spec/deployment#rotation-of-the-secret
  it("seals with the new secret only when every live process can open it, in any order of restarts", async () => {
    const [a, b] = [await start(old), await start(old)];
    const before = await a.signUp("before");

    const restarted = await start(`${newer},${old}`);
    await end(a);
    for (const app of [restarted, b]) await beat(app);
    const during = await restarted.signUp("during", a.application);
    const operator = await restarted.createOperator();
    assert.deepEqual(await statuses(during.token, [restarted, b]), [200, 200]);
    assert.deepEqual(await statuses(before.token, [restarted, b]), [200, 200]);
    assert.equal((await b.call("GET /_/api/deployment", { token: operator.token })).status, 200);
    assert.match(messages(restarted).join(), /does not seal yet/);

    // A process that crashes in this state counts as live for a minute.
    const last = await start(`${newer},${old}`);
    await beat(last);
    assert.equal(last.app.secrets.sealing, 1);
    await end(b);
    await beat(last);
    assert.equal(last.app.secrets.sealing, 0);
    const after = await last.signUp("after", a.application);
    for (const { token } of [before, during, after])
      assert.deepEqual(await statuses(token, [restarted, last]), [200, 200]);
    assert.equal(restarted.app.secrets.sealing, 1);
    await beat(restarted);
    assert.equal(restarted.app.secrets.sealing, 0);
    assert.match(messages(last).join(), /seals from now on/);

    await assert.rejects(start(old), PlainFailure, "a process that cannot open the new secret");
    const without = await start(newer);
    assert.deepEqual(await statuses(after.token, [without]), [200]);
    assert.deepEqual(await statuses(before.token, [without]), [401]);
  });

  it("ignores processes that have been silent for a minute, and waits for processes of an older version", async () => {
    await start(old);
    const next = await start(`${newer},${old}`);
    await beat(next);
    assert.equal(next.app.secrets.sealing, 1);
    next.advance(60_000);
    const own = await next.app.ownReports.take();
    const { secrets: _, ...older } = own.report;
    await next.app.database.write(({ queries }) => saveReport({ ...own, id: "older", report: older }, queries));
    await beat(next);
    assert.equal(next.app.secrets.sealing, 1);
    next.advance(60_000);
    await beat(next);
    assert.equal(next.app.secrets.sealing, 0);
  });
});

describe("a process of another deployment", () => {
  // spec/deployment#processes-that-fit
  it("is refused with another secret or region, and changes nothing", async () => {
    const first = await start(old);
    await assert.rejects(start("an entirely different secret"), /^PlainFailure: ROLLCALL_SECRET is not the secret/);
    await assert.rejects(
      start(old, { REGION: "eu" }),
      /^PlainFailure: REGION is eu, but the database is that of .* main/,
    );
    const { reads } = first.app.database;
    assert.equal(await findFact("region", reads), "main");
    assert.equal(await findFact("secret", reads), first.app.secrets.fingerprints[0]);
    assert.equal((await reads.selectFrom("server_processes").selectAll().execute()).length, 1);
  });
});

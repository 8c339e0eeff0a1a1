import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { maintain, maintainApplication } from "../src/app/maintenance.ts";
import { deleteApplicationRows, updateApplicationDeleted } from "../src/applications/applications.store.ts";
import { isForeignKeyViolation } from "../src/db/dialect.ts";
import { ApiError } from "../src/lib/errors.ts";
import { updateTotals } from "../src/statistics/statistics.totals.ts";
import { startTestApp, type TestApp } from "./harness.ts";
import { scrape } from "./scrapes.ts";

const token = "a-token-for-metrics";
let test: TestApp;
before(async () => {
  test = await startTestApp({ METRICS_TOKEN: token });
});
after(() => test.close());

const minute = 60_000;
const damaged = Buffer.from("AgAAAAAA", "base64");

async function addStatistics(application_id: string, data: Uint8Array): Promise<void> {
  const starts_at = Math.floor(test.now() / minute) * minute - 120 * minute;
  const row = { application_id, span: minute, starts_at, writer: "w", is_pending: 1, calls: 1, errors: 0, data };
  await test.app.database.write(({ queries }) => queries.insertInto("statistics").values(row).execute());
}

// spec/deployment#maintenance
describe("a step of maintenance that fails for one application", () => {
  it("stops no other step and no other application, and is logged and counted", async () => {
    const broken = await test.createApplication("Broken");
    const others = [test.application, await test.createApplication("Sound")];
    await addStatistics(broken.appid, damaged);
    await test.app.database.write(({ queries }) =>
      queries
        .insertInto("metric_inbox")
        .values({ application_id: broken.appid, id: "met_1", received_at: test.now(), payload: "not JSON" })
        .execute(),
    );
    for (const { appid } of others) {
      const device = await test.registerDevice(others.find((each) => each.appid === appid));
      assert.ok((await test.call("POST /metrics/events/level", { token: device, body: { value: 1 } })).status < 300);
    }
    await maintain(test.app);
    await maintain(test.app);

    const { reads } = test.app.database;
    for (const { appid } of [broken, ...others]) {
      const kept = await reads.selectFrom("kept_counts").selectAll().where("application_id", "=", appid).execute();
      assert.ok(kept.length > 0, "a later step has run");
    }
    const waiting = await reads.selectFrom("metric_inbox").select("application_id").execute();
    assert.deepEqual(
      waiting.map(({ application_id }) => application_id),
      [broken.appid],
    );
    const logged = test.logLines.filter(({ msg }) => String(msg).startsWith("a step of maintenance failed"));
    assert.deepEqual(
      logged.map(({ step, appid }) => [step, appid]),
      [
        ["compactMetrics", broken.appid],
        ["compactStatistics", broken.appid],
      ],
    );
    const series = await scrape(test.port, token);
    for (const step of ["compactMetrics", "compactStatistics"]) {
      const name = `rollcall_maintenance_failures_total{step="${step}",application="${broken.appid}"}`;
      assert.equal(series.get(name), 2);
    }
  });

  it("stops the round only if the database does not respond", async () => {
    const steps = test.app.maintenance;
    await steps.run("anything", "", () => Promise.reject(new Error("a damaged row")));
    const isAway = () => Promise.reject(new ApiError("ServiceUnavailable"));
    await steps.run("anything", test.application.appid, isAway);
    await assert.rejects(steps.run("anything", "", isAway), ApiError);
  });

  it("is not a failure if that application was deleted during the round", async () => {
    const { appid } = await test.createApplication("Gone");
    await test.app.database.write(({ queries }) => updateApplicationDeleted(appid, test.now(), queries));
    await deleteApplicationRows(appid, test.app);
    await assert.rejects(updateTotals(appid, test.now(), test.app.database), isForeignKeyViolation);
    await maintainApplication(appid, test.app, async (_step, _application, work) => void (await work()));
  });
});

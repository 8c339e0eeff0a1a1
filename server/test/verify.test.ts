import assert from "node:assert/strict";
import { before, describe, it } from "node:test";
import { formatResult } from "../../verify/report.ts";
import { verify } from "../../verify/run.ts";
import { tablesInErasureOrder } from "../src/db/table-catalogue.ts";
import { findComparedApplications } from "./compared-applications.ts";
import { newDevicesByDefault, startTestApp } from "./harness.ts";
import { startOtlpCollector } from "./otlp-collector.ts";

describe("the conformance suite", () => {
  let results: Awaited<ReturnType<typeof verify>>;
  /** The statements that it caused. */
  let statements: readonly string[];
  before(async () => {
    const collector = await startOtlpCollector();
    const app = await startTestApp({ ...newDevicesByDefault, OTEL_EXPORTER_OTLP_ENDPOINT: collector.url });
    results = await verify({
      url: new URL(app.url),
      application: app.application,
      otherApplication: await app.createApplication("Other"),
    });
    await app.close(); // sends the last spans
    await collector.close();
    statements = [...new Set(collector.spans.map(({ attributes }) => String(attributes["db.query.text"] ?? "")))];
  });

  it("passes", () => {
    const failed = results.filter(({ outcome }) => outcome === "failed");
    assert.ok(results.length > 500, `only ${results.length} checks ran`);
    assert.equal(failed.length, 0, `${failed.length} promises are broken:\n${failed.map(formatResult).join("\n")}`);
  });

  it("sends no statement that a distributed database would send to every node", () => {
    assert.ok(statements.length > 100, `only ${statements.length} statements were seen`);
    const ofApplications = statements.filter((text) => tablesInErasureOrder.some((table) => text.includes(table)));
    assert.deepEqual(
      ofApplications.filter((text) => !/"?application_id"? (=|in)|into|\("application_id"/.test(text)),
      [],
    );
  });

  // Citus finds the node by the parameter; `compared-applications.test.ts` reads the sources of all other statements.
  it("names the application by a parameter in every subquery", () => {
    assert.deepEqual(
      statements.filter((text) => findComparedApplications(text).length > 0),
      [],
    );
  });
});

import assert from "node:assert/strict";
import { test } from "node:test";
import { formatResult } from "../../verify/report.ts";
import { verify } from "../../verify/run.ts";
import { newDevicesByDefault, startTestApp } from "./harness.ts";

test("the conformance suite passes", async () => {
  const app = await startTestApp(newDevicesByDefault);
  try {
    const results = await verify({
      url: new URL(app.url),
      application: app.application,
      otherApplication: await app.createApplication("Other"),
    });
    const failed = results.filter(({ outcome }) => outcome === "failed");
    assert.ok(results.length > 500, `only ${results.length} checks ran`);
    assert.equal(failed.length, 0, `${failed.length} promises are broken:\n${failed.map(formatResult).join("\n")}`);
  } finally {
    await app.close();
  }
});

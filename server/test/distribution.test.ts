import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { runCommand } from "./command-line.ts";
import { createTestDeployment, type TestDeployment } from "./deployments.ts";

/** The messages of the commands without Citus; `npm run test:citus` tests them with Citus. */

describe("rollcall distribute", () => {
  let deployment: TestDeployment;
  before(async () => {
    deployment = await createTestDeployment();
  });
  after(() => deployment.remove());

  it("is refused without Citus", async () => {
    const { code, stdout, stderr } = await runCommand(["distribute"], deployment.settings);
    assert.deepEqual([code, stdout], [2, ""]);
    assert.match(stderr, /distribute needs a DATABASE_URL of PostgreSQL with the extension citus/);
  });
});

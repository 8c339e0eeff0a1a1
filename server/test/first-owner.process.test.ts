import assert from "node:assert/strict";
import { after, afterEach, before, describe, it } from "node:test";
import { createTestApplication, createTestDeployment, type TestDeployment } from "./deployments.ts";
import { demoPattern, ownerPattern, signInPattern } from "./first-start.ts";
import { send } from "./harness.ts";
import { waitUntil } from "./mails.ts";
import { killRunningServers, startProgram } from "./running-server.ts";

let deployment: TestDeployment;
before(async () => {
  deployment = await createTestDeployment();
  await createTestApplication(deployment.settings);
});
afterEach(killRunningServers);
after(() => deployment.remove());

// spec/operators#first-owner
describe("a start on a deployment without operators", () => {
  it("creates exactly one owner on either engine, even if several processes start simultaneously", async () => {
    const settings = { ...deployment.settings, PASSWORD_HASH_PASSES: "1" };
    const servers = await Promise.all([startProgram(settings), startProgram(settings)]);
    const output = () => servers.map((server) => server.output()).join("");
    await waitUntil(() => signInPattern.test(output()), "the print of the credentials");
    assert.equal(output().match(ownerPattern)?.length, 1);
    assert.doesNotMatch(output(), demoPattern);
    const [, path = "", , body = ""] = signInPattern.exec(output()) ?? [];
    for (const { port } of servers) assert.equal((await send(port, "POST", path, { body })).status, 201);
    for (const server of servers) assert.equal(await server.end("SIGTERM"), 0);
    const third = await startProgram(settings);
    await third.end("SIGTERM");
    assert.doesNotMatch(third.output(), /password/);
  });
});

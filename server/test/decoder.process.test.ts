// Runs on one engine: the database takes no part in decoding.
import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { afterEach, describe, it } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { createTestApplication, createTestDeployment, signUpAt } from "./deployments.ts";
import { send } from "./harness.ts";
import { waitUntil } from "./mails.ts";
import { killRunningServers, startProgram, workersOf } from "./running-server.ts";
import { dataPart, formHeaders, formOf, png } from "./uploads.ts";

afterEach(killRunningServers);

describe("the process that decodes pictures", { skip: process.platform !== "linux" && "looks into /proc" }, () => {
  for (const signal of ["SIGTERM", "SIGKILL"] as const) {
    it(`exits with the server, also while it decodes a picture: ${signal}`, async (t) => {
      const { settings, remove } = await createTestDeployment();
      t.after(remove);
      const application = await createTestApplication(settings);
      const server = await startProgram({ ...settings, SHUTDOWN_GRACE_MS: "200" });
      const { token } = await signUpAt(server.port, application);
      assert.deepEqual(workersOf(server), []);
      const body = formOf([dataPart(await png(6_000, 6_000))]);
      const answer = await send(server.port, "POST", "/pictures", { token, body, headers: formHeaders });
      assert.equal(answer.status, 201);
      const [decoder] = workersOf(server);
      assert.ok(decoder !== undefined);
      const path = `/pictures/${answer.body.result.id}/file?size=5999`; // takes a second or more
      const read = send(server.port, "GET", path, { token }).catch(() => {});
      await sleep(100);
      await server.end(signal);
      await read;
      await waitUntil(() => !existsSync(`/proc/${decoder}`), "the end of the decoder");
    });
  }
});

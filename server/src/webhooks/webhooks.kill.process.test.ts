import assert from "node:assert/strict";
import { it } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { startTestApp } from "../../test/harness.ts";
import { killRunningServers, startProgram } from "../../test/running-server.ts";
import { startReceiver } from "../../test/webhook-receiver.ts";

/** The limit of each step, which includes starting a process. The guarantee is compared with that time. */
const stepMsMax = 90_000;
/** The lease of the killed process, and a scan. */
const goesOnMsMax = 40_000;
const pollMs = 100;

// spec/webhooks#retries
it("another process continues deliveries after kill -9 of the sending one, and repeats have the same webhook-id (events.md E17)", async (t) => {
  const receiver = await startReceiver(() => new Promise(() => {}));
  const networks = { WEBHOOK_NETWORKS: "127.0.0.0/8" };
  const test = await startTestApp(networks); // answers calls, and sends nothing
  t.after(async () => {
    killRunningServers();
    await test.close();
    await receiver.close();
  });
  const { token } = await test.createOperator();
  const root = `/_/api/applications/${test.application.appid}/webhooks`;
  const hook = { url: receiver.url, types: ["checkin.*"], concurrency: 1, timeoutMs: 30_000 };
  await test.call(`POST ${root}`, { token, body: hook });
  const jane = await test.signUp();
  const ids: string[] = [];
  for (let count = 0; count < 3; count += 1) {
    const answer = await test.call("POST /checkins", { token: jane.token, body: { location: "1,2" } });
    ids.push(answer.body.result.id);
  }

  const settings = {
    ...networks,
    DATA_DIR: test.config.dataDir,
    DATABASE_URL: test.config.databaseUrl,
    ROLLCALL_SECRET: `${test.config.secrets?.[0]}`,
  };
  const first = await startProgram(settings);
  await until(() => receiver.received.length === 1);
  const startedAt = performance.now();
  const second = await startProgram(settings);
  const startMs = performance.now() - startedAt;
  receiver.answer = () => 204;
  await first.end("SIGKILL");
  const killedAt = performance.now();
  await until(() => receiver.received.length >= 2);
  assert.ok(performance.now() - killedAt < goesOnMsMax + startMs, "the other process goes on within 40 s");
  await until(() => receiver.received.length === 4);
  const [begun, again, ...others] = receiver.received;
  assert.equal(begun?.id, again?.id);
  assert.deepEqual(
    [again, ...others].map((each) => each?.body.data.objectID),
    ids,
  );
  await second.end("SIGTERM");
});

async function until(isThere: () => boolean): Promise<void> {
  const endsAt = performance.now() + stepMsMax;
  while (!isThere()) {
    assert.ok(performance.now() < endsAt, "nothing was sent in time");
    await sleep(pollMs);
  }
}

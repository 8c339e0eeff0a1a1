// Runs on one engine: the receiver has no database.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { it } from "node:test";
import { startTestApp } from "../../test/harness.ts";

const program = join(import.meta.dirname, "../../../examples/webhook-receiver/receiver.ts");

async function findFreePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, "close");
  return port;
}

it("examples/webhook-receiver verifies events, and handles each once", async (t) => {
  const test = await startTestApp({ WEBHOOK_NETWORKS: "127.0.0.0/8" }, { webhookBounds: { isAutomatic: false } });
  t.after(() => test.close());
  test.app.webhookRunner.start(test.app);
  const { token } = await test.createOperator();
  const port = await findFreePort();
  const url = `http://127.0.0.1:${port}/`;
  const root = `/_/api/applications/${test.application.appid}/webhooks`;
  const created = await test.call(`POST ${root}`, { token, body: { url, types: ["checkin.*"] } });
  const { id, secret } = created.body.result;

  const env = { PATH: process.env["PATH"], WEBHOOK_SECRET: secret, PORT: `${port}` };
  const receiver = spawn(process.execPath, [program], { env, stdio: ["ignore", "pipe", "inherit"] });
  t.after(() => receiver.kill());
  const lines = createInterface(receiver.stdout)[Symbol.asyncIterator]();
  assert.equal((await lines.next()).value, "listening");

  const jane = await test.signUp();
  const checkin = await test.call("POST /checkins", { token: jane.token, body: { location: "1,2" } });
  await test.app.webhookRunner.serveAll();
  assert.match(`${(await lines.next()).value}`, new RegExp(`checkin\\.created ${checkin.body.result.id}$`));
  const [delivery] = (await test.call(`GET ${root}/${id}/deliveries`, { token })).body.result.pageResults;
  assert.deepEqual([delivery.state, delivery.status], ["delivered", 204]);

  await test.call(`POST ${root}/${id}/deliveries/${delivery.id}/redeliver`, { token, body: {} });
  await test.call(`DELETE /checkins/${checkin.body.result.id}`, { token: jane.token });
  await test.app.webhookRunner.serveAll();
  assert.match(`${(await lines.next()).value}`, /checkin\.deleted /); // the repeat printed no line
  const forged = await fetch(url, { method: "POST", body: "{}", headers: { "webhook-id": "evt_1" } });
  assert.equal(forged.status, 401);
});

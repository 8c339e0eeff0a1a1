import assert from "node:assert/strict";
import { after, afterEach, before, it } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { startTestApp, type TestApp } from "../../test/harness.ts";
import { scrape } from "../../test/scrapes.ts";
import { startReceiver, type WebhookReceiver } from "../../test/webhook-receiver.ts";

const metricsToken = "token-for-scrapes-of-tests";
const networks = {
  WEBHOOK_NETWORKS: "127.0.0.0/8",
  RATE_LIMITS: "off",
  METRICS_TOKEN: metricsToken,
};
/** So long that no test waits for a scan. */
const scanMs = 3_600_000;
const waitMs = 90_000;

let test: TestApp;
let token: string;
const receivers: WebhookReceiver[] = [];
before(async () => {
  test = await startTestApp(networks, { webhookBounds: { servedMax: 1, sliceMs: 50, scanMs } });
  test.app.webhookRunner.start(test.app);
  token = (await test.createOperator()).token;
});
afterEach(async () => {
  await Promise.all(receivers.splice(0).map((receiver) => receiver.close()));
});
after(() => test.close());

async function register(appid: string, answer?: () => Promise<number>): Promise<WebhookReceiver> {
  const receiver = await startReceiver(answer);
  receivers.push(receiver);
  const body = { url: receiver.url, types: ["checkin.*"], concurrency: 1, perSecond: 1_000 };
  const { status, text } = await test.call(`POST /_/api/applications/${appid}/webhooks`, { token, body });
  assert.equal(status, 201, text);
  return receiver;
}

async function checkIn(user: { readonly token: string }, at = test): Promise<string> {
  const { body, text } = await at.call("POST /checkins", { token: user.token, body: { location: "1,2" } });
  assert.ok(body.success, text);
  return body.result.id;
}

async function until(isThere: () => boolean, what: string): Promise<void> {
  const endsAt = performance.now() + waitMs;
  while (!isThere()) {
    assert.ok(performance.now() < endsAt, `${what} did not come`);
    await sleep(20);
  }
}

// spec/webhooks#retries
it("the events of every process reach the first webhook of an application without a scan", async (t) => {
  const other = await startTestApp({
    ...networks,
    DATABASE_URL: test.config.databaseUrl,
    DATA_DIR: test.config.dataDir,
  });
  t.after(() => other.close());
  const application = await test.createApplication();
  const receiver = await register(application.appid);
  const jane = await test.signUp("Jane", application);
  const own = await checkIn(jane);
  await until(() => receiver.received.some(({ body }) => body.data.objectID === own), "an own event");
  const foreign = await checkIn(jane, other);
  await until(
    () => receiver.received.some(({ body }) => body.data.objectID === foreign),
    "an event of another process",
  );
});

it("a webhook with many events yields to those of other applications", async () => {
  const [busy, quiet] = [await test.createApplication("Busy"), await test.createApplication("Quiet")];
  const events = 400;
  const slow = await register(busy.appid, async () => {
    await sleep(50);
    return 204;
  });
  const jane = await test.signUp("Jane of the busy one", busy);
  for (let count = 0; count < events; count += 1) await checkIn(jane);
  await until(() => slow.received.length > 0, "the first event of the busy application");
  const receiver = await register(quiet.appid);
  const joe = await test.signUp("Joe of the quiet one", quiet);
  const id = await checkIn(joe);
  await until(() => receiver.received.length > 0, "the event of the quiet application");
  assert.equal(receiver.received[0]?.body.data.objectID, id);
  assert.ok(slow.received.length < events, "the busy application was served until its end");
});

// spec/webhooks#read-a-webhook
it("metrics report the state of each webhook, and how far it is behind", async () => {
  const application = await test.createApplication();
  await register(application.appid, async () => 500);
  const jane = await test.signUp("Jane of the failing one", application);
  await checkIn(jane);
  const isOf = (name: string) => name.startsWith(`rollcall_webhook_behind_events{application="${application.appid}"`);
  let found: (readonly [string, number])[] = [];
  let series = await scrape(test.port, metricsToken);
  const endsAt = performance.now() + waitMs;
  while (found.length === 0 && performance.now() < endsAt) {
    await sleep(100);
    series = await scrape(test.port, metricsToken);
    found = [...series].filter(([name]) => isOf(name));
  }
  assert.deepEqual(
    found.map(([, events]) => events),
    [1],
  );
  const [[name = ""] = []] = found;
  assert.ok(Number(series.get(name.replace("_events{", "_seconds{"))) >= 0);
  assert.ok(Number(series.get('rollcall_webhooks{state="active"}')) >= 1);
});

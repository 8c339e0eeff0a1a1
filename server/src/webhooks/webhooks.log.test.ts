import assert from "node:assert/strict";
import { once } from "node:events";
import { type AddressInfo, createServer, type Socket } from "node:net";
import { after, before, describe, it } from "node:test";
import { sql } from "kysely";
import { startTestApp, type TestApp, type TestOperator, type TestUser } from "../../test/harness.ts";
import { mailsTo, waitUntil } from "../../test/mails.ts";
import { startReceiver, type WebhookReceiver } from "../../test/webhook-receiver.ts";
import { insertDeliveries, newDelivery } from "./webhooks.deliveries.store.ts";
import { maintainWebhooks } from "./webhooks.maintenance.ts";

const settings = { WEBHOOK_NETWORKS: "127.0.0.0/8", RATE_LIMITS: "off" };
const notServed = { webhookBounds: { isAutomatic: false } };

describe("webhooks and the event log", () => {
  let test: TestApp;
  let owner: TestOperator;
  let jane: TestUser;
  let receiver: WebhookReceiver;
  let root: string;
  before(async () => {
    test = await startTestApp(settings, notServed);
    test.app.webhookRunner.start(test.app);
    owner = await test.createOperator();
    jane = await test.signUp();
    receiver = await startReceiver();
    root = `/_/api/applications/${test.application.appid}`;
  });
  after(async () => {
    await test.close();
    await receiver.close();
  });

  async function ask(call: string, body?: object) {
    const answer = await test.call(call, { token: owner.token, ...(body && { body }) });
    assert.ok(answer.status < 300, answer.text);
    return answer.body.result;
  }

  const create = (body: object = {}) =>
    ask(`POST ${root}/webhooks`, { url: receiver.url, types: ["checkin.*"], ...body });

  async function checkIn(): Promise<string> {
    const answer = await test.call("POST /checkins", { token: jane.token, body: { location: "1,2" } });
    assert.equal(answer.status, 201, answer.text);
    return answer.body.result.id;
  }

  // spec/events#operators-events
  it("an event lists its deliveries by webhook, without the receivers' responses", async () => {
    const failing = await startReceiver(() => 500);
    const [first, second] = [await create(), await create({ url: failing.url })];
    const objectID = await checkIn();
    await test.app.webhookRunner.serveAll();
    const [{ sequence }] = (await ask(`GET ${root}/events?objectID=${objectID}`)).pageResults;
    const event = await ask(`GET ${root}/events/${sequence}`);
    assert.equal(event.objectID, objectID);
    assert.deepEqual(
      event.deliveries.map(({ webhookID, state, attempt, status }: Record<string, unknown>) => ({
        ...{ webhookID, state, attempt, status },
      })),
      [
        { webhookID: first.id, state: "delivered", attempt: 1, status: 204 },
        { webhookID: second.id, state: "failed", attempt: 1, status: 500 },
      ],
    );
    const [delivered, failed] = event.deliveries;
    assert.deepEqual([delivered.nextAttempt, typeof failed.nextAttempt], [undefined, "string"]);
    const { pageResults } = await ask(`GET ${root}/webhooks/${second.id}/deliveries`);
    assert.equal(failed.id, pageResults[0].id);
    await failing.close();
  });

  it("an event without a delivery has no list", async () => {
    await test.call("PATCH /users/me", { token: jane.token, body: { description: "new" } });
    const [{ sequence }] = (await ask(`GET ${root}/events?type=user.changed`)).pageResults;
    assert.equal((await ask(`GET ${root}/events/${sequence}`)).deliveries, undefined);
  });

  // spec/webhooks#deliveries
  it("of successful deliveries the newest 1,000 are stored, however slowly they accumulate", async () => {
    const { id } = await create();
    await checkIn();
    const { app, application } = test;
    const [event] = await app.eventLog.list(application.appid, 0, 1);
    assert.ok(event);
    const webhook = { application_id: application.appid, id, log: "" };
    const rows = Array.from({ length: 1_003 }, () => ({
      ...newDelivery(webhook, event, app.ids.newId("WebhookDelivery"), test.now()),
      ...{ state: "delivered" as const, next_attempt_at: null },
    }));
    await app.database.write(({ queries }) => insertDeliveries(rows, queries));
    await maintainWebhooks(application.appid, app);
    const stored = await app.database.reads
      .selectFrom("webhook_deliveries")
      .select("id")
      .where("webhook_id", "=", id)
      .where("state", "=", "delivered")
      .execute();
    assert.equal(stored.length, 1_000);
    await ask(`DELETE ${root}/webhooks/${id}`);
  });

  // spec/webhooks#read-a-webhook
  it("`behind` examines 10,000 logged events, and reports whether there may be more", async () => {
    const { id } = await create();
    await checkIn();
    const few = (await ask(`GET ${root}/webhooks/${id}`)).behind;
    assert.deepEqual([few.events, few.isAtLeast], [1, undefined]);
    const copies = sql`
      insert into events (application_id, number, position, id, type, at, object_id, changed, was_shown, is_shown)
      with recursive copies (n) as (select 1 union all select n + 1 from copies where n < 10000)
      select ${test.application.appid}, 1000000 + n, 1000000 + n, 'evt_' || n, 'user.changed', 0, 'usr_', '', 0, 0
      from copies`;
    await test.app.database.write(({ queries }) => copies.execute(queries));
    const many = (await ask(`GET ${root}/webhooks/${id}`)).behind;
    assert.deepEqual([many.events, many.isAtLeast], [1, true]);
  });
});

// spec/webhooks#failing
describe("the mail about a disabled webhook", () => {
  it("is sent by another process when the mail server of the process that disabled it does not respond", async (t) => {
    const connections: Socket[] = [];
    const silent = createServer((socket) => void connections.push(socket.on("error", () => {}))).listen(0, "127.0.0.1");
    await once(silent, "listening");
    const receiver = await startReceiver(() => 410);
    const { port } = silent.address() as AddressInfo; // it listens on a port
    const first = await startTestApp({ ...settings, SMTP_URL: `smtp://127.0.0.1:${port}` }, notServed);
    const { databaseUrl, secrets } = first.config;
    const second = await startTestApp({ DATABASE_URL: databaseUrl, ROLLCALL_SECRET: `${secrets?.[0]}` }, notServed);
    t.after(async () => {
      for (const socket of connections) socket.destroy();
      silent.close();
      await first.close();
      await second.close();
      await receiver.close();
    });
    const { token } = await first.createOperator();
    const root = `/_/api/applications/${first.application.appid}`;
    await first.call(`PATCH ${root}/settings`, { token, body: { webhooks: { mail: "hooks@example.com" } } });
    const hook = { url: receiver.url, types: ["checkin.*"] };
    const created = await first.call(`POST ${root}/webhooks`, { token, body: hook });
    const jane = await first.signUp();
    await first.call("POST /checkins", { token: jane.token, body: { location: "1,2" } });
    first.app.webhookRunner.start(first.app);
    await first.app.webhookRunner.serveAll();
    await waitUntil(() => connections.length > 0, "an attempt to send the mail");
    second.app.webhookRunner.start(second.app);
    await second.app.webhookRunner.serveAll();
    assert.equal(mailsTo(second, "hooks@example.com").length, 0, "the first process is sending it");
    second.advance(1_200_000);
    await second.app.webhookRunner.serveAll();
    const [mail = ""] = mailsTo(second, "hooks@example.com");
    assert.ok(mail.includes(created.body.result.id));
    await second.app.webhookRunner.serveAll();
    assert.equal(mailsTo(second, "hooks@example.com").length, 1, "it is sent once");
  });
});

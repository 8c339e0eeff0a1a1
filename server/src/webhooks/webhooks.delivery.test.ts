import assert from "node:assert/strict";
import { after, afterEach, before, beforeEach, describe, it } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { Webhook } from "standardwebhooks";
import { type Answer, startTestApp, type TestApp, type TestOperator, type TestUser } from "../../test/harness.ts";
import { mailsTo, waitUntil } from "../../test/mails.ts";
import { startReceiver, type WebhookReceiver } from "../../test/webhook-receiver.ts";
import type { NewApplication } from "../applications/applications.store.ts";
import { lockRow } from "../db/lock.ts";

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;
const dayMs = 24 * hourMs;

let test: TestApp;
let owner: TestOperator;
let signedInAt = 0;
let receiver: WebhookReceiver;
let application: NewApplication;
let jane: TestUser;
let root: string;
before(async () => {
  test = await startTestApp(
    { WEBHOOK_NETWORKS: "127.0.0.0/8", RATE_LIMITS: "off" },
    { webhookBounds: { isAutomatic: false } },
  );
  test.app.webhookRunner.start(test.app);
});
after(() => test.close());
afterEach(async () => {
  await test.app.database.write(({ queries }) => queries.deleteFrom("webhooks").execute());
  await receiver.close();
});
beforeEach(async () => {
  receiver = await startReceiver();
  application = await test.createApplication();
  root = `/_/api/applications/${application.appid}/webhooks`;
  jane = await test.signUp(undefined, application);
});

/** Calls as an owner whose session is valid at the advanced clock. */
async function ask(call: string, body?: object): Promise<Answer> {
  if (Math.abs(test.now() - signedInAt) > hourMs) {
    signedInAt = test.now();
    owner = await test.createOperator(`owner at ${signedInAt}`);
  }
  return test.call(call, { token: owner.token, ...(body && { body }) });
}

async function create(body: object = {}): Promise<{ id: string; secret: string }> {
  const {
    status,
    body: answer,
    text,
  } = await ask(`POST ${root}`, {
    url: receiver.url,
    types: ["checkin.*"],
    concurrency: 1,
    ...body,
  });
  assert.equal(status, 201, text);
  return answer.result;
}

async function checkIn(count = 1, body: object = {}): Promise<string[]> {
  const ids: string[] = [];
  for (let index = 0; index < count; index += 1) {
    const { body: answer, text } = await test.call("POST /checkins", {
      token: jane.token,
      body: { location: "48.2,16.37", comment: `${index}`, ...body },
    });
    assert.ok(answer.success, text);
    ids.push(answer.result.id);
  }
  return ids;
}

const serveAll = () => test.app.webhookRunner.serveAll();

async function webhook(id: string) {
  return (await ask(`GET ${root}/${id}`)).body.result;
}

async function deliveries(id: string, state = "") {
  return (await ask(`GET ${root}/${id}/deliveries?pageSize=100${state && `&state=${state}`}`)).body.result.pageResults;
}

function assertIsNow(timestamp: unknown): void {
  assert.ok(Math.abs(Number(timestamp) - Date.now() / 1_000) < 60, `${timestamp}`);
}

const objects = () => receiver.received.map(({ body }) => body.data.objectID);

describe("a delivery", () => {
  // spec/webhooks#envelope
  it("is a CloudEvent that Standard Webhooks receivers verify, with the object as of the delivery", async () => {
    const { id, secret } = await create({ headers: { "X-Shop": "7" }, types: ["*"] });
    const [checkinId] = await checkIn();
    await serveAll();
    const received = receiver.received.find(({ body }) => body.type === "checkin.created");
    assert.ok(received);
    const { headers, body, text } = received;
    new Webhook(secret).verify(text, headers as Record<string, string>);
    assert.throws(() => new Webhook(`whsec_${Buffer.alloc(32).toString("base64")}`).verify(text, headers as never));
    assert.deepEqual(
      [body.specversion, body.type, body.subject, body.datacontenttype, body.timestamp],
      ["1.0", "checkin.created", checkinId, "application/json", body.time],
    );
    assert.equal(body.source, `${test.app.serverUrl()}/applications/${application.appid}`);
    assert.equal(body.id, headers["webhook-id"]);
    assert.match(body.sequence, /^\d{20}$/);
    assert.equal(body.time, new Date(test.now()).toISOString());
    assert.deepEqual(body.data.actor, { kind: "user", id: jane.id });
    assert.equal(body.data.object.comment, "0");
    assert.deepEqual(
      [headers["content-type"], headers["x-shop"], headers["rollcall-attempt"], headers["rollcall-replay"]],
      ["application/json", "7", "1", undefined],
    );
    assert.match(`${headers["user-agent"]}`, /^Rollcall\/\d/);
    assertIsNow(headers["webhook-timestamp"]);
    const shown = await webhook(id);
    assert.deepEqual([shown.behind, shown.lastSuccess], [{ events: 0 }, `/Date(${test.now()})/`]);
  });

  it("has a different media type for receivers of CloudEvents", async () => {
    await create({ format: "cloudevents" });
    await checkIn();
    await serveAll();
    assert.equal(receiver.received[0]?.headers["content-type"], "application/cloudevents+json");
  });

  it("contains only events of its types after its creation, in order", async () => {
    await checkIn(2);
    const { id } = await create();
    const ids = await checkIn(5);
    await test.call("PATCH /users/me", { token: jane.token, body: { firstName: "J" } });
    await serveAll();
    assert.deepEqual(objects(), ids);
    // spec/webhooks#change-a-webhook
    await ask(`PATCH ${root}/${id}`, { types: ["user.*", "checkin.*"] });
    await test.call("PATCH /users/me", { token: jane.token, body: { firstName: "Jo" } });
    await serveAll();
    assert.deepEqual(
      receiver.received.slice(5).map(({ body }) => body.data.changed),
      [["firstName"]],
    );
  });

  // spec/webhooks#envelope
  it("reports that its object is deleted, and contains none", async () => {
    await create();
    const [checkinId] = await checkIn();
    await test.call(`DELETE /checkins/${checkinId}`, { token: jane.token });
    await serveAll();
    const [created, deleted] = receiver.received.map(({ body }) => body);
    assert.deepEqual([created.type, created.data.isGone, created.data.object], ["checkin.created", true, undefined]);
    assert.deepEqual([deleted.type, deleted.data.isGone], ["checkin.deleted", undefined]);
  });

  // spec/webhooks#true-locations
  it("contains the location that other users see, unless an owner has chosen the true one", async () => {
    await test.call("PATCH /users/me", { token: jane.token, body: { locationFuzzing: true } });
    await create();
    await create({ trueLocations: true });
    await checkIn(1, { readPermissions: "App" });
    await serveAll();
    const locations = receiver.received.map(({ body }) => body.data.object);
    const exact = locations.filter(({ location }) => location?.lat === 48.2 && location?.lng === 16.37);
    assert.deepEqual([locations.length, exact.length], [2, 1]);
    assert.equal(exact[0].isShifted, undefined);
    const shifted = locations.find((object) => object !== exact[0]);
    assert.ok(shifted.isShifted === true || shifted.location === undefined);
  });
});

// spec/webhooks#retries
it("an event that is accepted while another result is being stored is sent once", async () => {
  const { database } = test.app;
  const { id } = await create({ concurrency: 2 });
  const [first] = await checkIn(2);
  const locked = Promise.withResolvers<void>();
  const released = Promise.withResolvers<void>();
  const answered = Promise.withResolvers<void>();
  let held: Promise<unknown> = Promise.resolve();
  receiver.answer = async ({ body }) => {
    await waitUntil(() => receiver.received.length === 2);
    if (body.data.objectID !== first) {
      await answered.promise;
      return 204;
    }
    held = database.write(async ({ queries }) => {
      await lockRow(database.dialect, "webhooks", application.appid, id, queries);
      locked.resolve();
      await released.promise;
    });
    await locked.promise;
    return 204;
  };
  const accepted = () => test.app.webhookRunner.outcomes.get("delivered") ?? 0;
  const before = accepted();
  const served = serveAll();
  await waitUntil(() => accepted() === before + 1);
  await sleep(500); // storing the first result waits for the lock
  answered.resolve();
  await waitUntil(() => accepted() === before + 2);
  released.resolve();
  await Promise.all([served, held]);
  await serveAll();
  assert.equal(receiver.received.length, 2);
  assert.deepEqual((await webhook(id)).behind, { events: 0 });
});

// spec/webhooks#test-a-webhook
it("a test event is sent in any state of the webhook, at most six times a minute", async () => {
  const { id, secret } = await create();
  await ask(`POST ${root}/${id}/pause`, {});
  receiver.answer = (_, response) => {
    response.writeHead(418).end("teapot");
    return undefined;
  };
  const { body } = await ask(`POST ${root}/${id}/test`, {});
  assert.deepEqual({ ...body.result, ms: 0 }, { status: 418, response: "teapot", ms: 0 });
  assert.equal(receiver.received[0]?.body.type, "webhook.test");
  const { text = "", headers } = receiver.received[0] ?? {};
  new Webhook(secret).verify(text, headers as Record<string, string>);
  for (let count = 1; count < 6; count += 1) assert.equal((await ask(`POST ${root}/${id}/test`, {})).status, 200);
  assert.equal((await ask(`POST ${root}/${id}/test`, {})).body.error, "RateLimitExceeded");
  test.advance(minuteMs);
  assert.equal((await ask(`POST ${root}/${id}/test`, {})).status, 200);
});

// spec/webhooks#rotate-the-secret
it("a receiver can verify events with either secret during a rotation, in every process (events.md E16)", async (t) => {
  const other = await startTestApp(
    { DATABASE_URL: test.config.databaseUrl, WEBHOOK_NETWORKS: "127.0.0.0/8" },
    { webhookBounds: { isAutomatic: false } },
  );
  t.after(() => other.close());
  other.advance(test.now() - other.now());
  other.app.webhookRunner.start(other.app);
  const { id, secret } = await create();
  const { secret: newer } = (await ask(`POST ${root}/${id}/rotate-secret`, { overlapHours: 2 })).body.result;
  await checkIn();
  await serveAll();
  await checkIn();
  await other.app.webhookRunner.serveAll();
  assert.equal(receiver.received.length, 2);
  for (const { text, headers } of receiver.received) {
    for (const each of [secret, newer]) new Webhook(each).verify(text, headers as Record<string, string>);
    assert.equal(`${headers["webhook-signature"]}`.split(" ").length, 2);
  }
  for (const each of [test, other]) each.advance(3 * hourMs);
  await checkIn();
  await serveAll();
  const last = receiver.received[2];
  assert.equal(`${last?.headers["webhook-signature"]}`.split(" ").length, 1);
});

// spec/webhooks#retries
describe("a failed delivery", () => {
  it("is retried after 5 s, 5 min … and dead after the tenth attempt; other events pass, and no breaker opens (events.md E15)", async () => {
    const { id } = await create();
    const [poison] = await checkIn();
    receiver.answer = ({ body }) => (body.data.objectID === poison ? 500 : 204);
    await serveAll();
    const waits = [5_000, 5 * minuteMs, 30 * minuteMs, ...[2, 5, 10, 14, 20, 24].map((hours) => hours * hourMs)];
    for (const [index, wait] of waits.entries()) {
      const [{ attempt, state, nextAttempt }] = await deliveries(id, "failed");
      assert.deepEqual([attempt, state], [index + 1, "failed"]);
      const ms = Number(nextAttempt.slice(6, -2)) - test.now();
      assert.ok(ms >= wait * 0.9 && ms <= wait * 1.1, `${ms} ms after attempt ${index + 1}`);
      test.advance(ms - 1);
      await serveAll();
      assert.equal((await deliveries(id, "failed"))[0].attempt, index + 1, "not before its time");
      if (index < 7) await checkIn(1);
      test.advance(1);
      await serveAll();
    }
    const [{ id: deliveryId, eventID, attempt, status }] = await deliveries(id, "dead");
    assert.deepEqual([attempt, status], [10, 500]);
    assert.equal((await webhook(id)).state, "active");
    assert.equal(objects().filter((each) => each !== poison).length, 7);

    // spec/webhooks#redeliver
    receiver.answer = () => 200;
    receiver.received.length = 0;
    const again = await ask(`POST ${root}/${id}/deliveries/${deliveryId}/redeliver`, {});
    assert.equal(again.status, 201, again.text);
    assert.deepEqual((await ask(`POST ${root}/${id}/redeliver`, {})).body.result, { accepted: 1 });
    assert.deepEqual((await ask(`POST ${root}/${id}/redeliver`, {})).body.result, { accepted: 0 });
    await serveAll();
    assert.deepEqual(
      receiver.received.map((each) => [each.id, each.headers["rollcall-replay"]]),
      [[eventID, "true"]],
      "the first success ends the other delivery",
    );
  });

  it("does not follow redirects, and stores 1,024 characters of the response", async () => {
    const { id } = await create();
    await checkIn();
    const elsewhere = await startReceiver();
    receiver.answer = (_, response) => {
      response.writeHead(307, { location: elsewhere.url }).end("ä".repeat(5_000));
      return undefined;
    };
    await serveAll();
    const [{ status, response, state }] = await deliveries(id);
    assert.deepEqual([status, response, state], [307, "ä".repeat(1_024), "failed"]);
    assert.equal(elsewhere.received.length, 0);
    await elsewhere.close();
  });

  // spec/webhooks#answers
  it("delays all deliveries of the webhook for a Retry-After, and does not count as a failure", async () => {
    const { id } = await create();
    const ids = await checkIn(3);
    receiver.answer = (_, response) => {
      response.writeHead(429, { "retry-after": "120" }).end();
      return undefined;
    };
    await serveAll();
    assert.deepEqual([objects().length, (await deliveries(id))[0].attempt], [1, 0]);
    test.advance(119_000);
    await serveAll();
    assert.equal(objects().length, 1);
    receiver.answer = () => 200;
    test.advance(1_000);
    await serveAll();
    assert.deepEqual(objects().slice(1), ids);
  });

  it("with 410 disables the webhook immediately, and notifies the other webhooks", async () => {
    const { id } = await create();
    await create({ types: ["webhook.*"] });
    await checkIn(2);
    receiver.answer = ({ body }) => (body.type === "checkin.created" ? 410 : 204);
    await serveAll();
    assert.equal((await webhook(id)).state, "disabled");
    const told = receiver.received.filter(({ body }) => body.type === "webhook.disabled");
    assert.deepEqual(
      told.map(({ body }) => body.data.objectID),
      [id],
    );
    receiver.answer = () => 204;
    receiver.received.length = 0;
    await ask(`POST ${root}/${id}/resume`, {});
    test.advance(minuteMs);
    await serveAll();
    assert.equal(objects().length, 2);
  });
});

// spec/webhooks#create-a-webhook
it("no secret and no value of a header is in a log line, the audit log or the list of deliveries", async () => {
  const hush = "Bearer hush-0123456789";
  const { id, secret } = await create({ headers: { authorization: hush } });
  const { secret: newer } = (await ask(`POST ${root}/${id}/rotate-secret`, {})).body.result;
  const answers: WebhookReceiver["answer"][] = [
    () => 204,
    () => 500,
    (_, response) => {
      response.destroy();
      return undefined;
    },
    (_, response) => {
      response.writeHead(429, { "retry-after": "1" }).end();
      return undefined;
    },
    () => 410,
  ];
  for (const answer of answers) {
    receiver.answer = answer;
    await checkIn();
    await serveAll();
    await ask(`POST ${root}/${id}/test`, {});
    test.advance(minuteMs);
  }
  assert.equal((await ask(`PATCH ${root}/${id}`, { headers: { authorization: `${hush}\n` } })).status, 400);
  assert.ok(receiver.received.every(({ headers }) => headers["authorization"] === hush));
  const shown = [JSON.stringify(test.logLines)];
  for (const path of [`${root}/${id}`, `${root}/${id}/deliveries?pageSize=100`, "/_/api/audit?pageSize=100"]) {
    shown.push((await ask(`GET ${path}`)).text);
  }
  for (const text of shown) {
    for (const word of [secret, newer, "hush-0123456789"]) {
      assert.ok(!text.includes(word.replace("whsec_", "")), `${word} in ${text.slice(0, 200)}`);
    }
  }
});

// spec/webhooks#failing
describe("a receiver that is down", () => {
  it("is reported by mail to the configured address when its webhook is disabled", async () => {
    const path = `PATCH /_/api/applications/${application.appid}/settings`;
    const changed = await test.call(path, { token: owner.token, body: { webhooks: { mail: "hooks@example.com" } } });
    assert.equal(changed.status, 200, changed.text);
    for (const mail of ["a@b, c@d", "nothing", "Ann <ann@example.com>", 7]) {
      const answer = await test.call(path, { token: owner.token, body: { webhooks: { mail } } });
      assert.equal(answer.status, 400, answer.text);
    }
    const { id } = await create();
    receiver.answer = () => 410;
    await checkIn();
    await serveAll();
    await waitUntil(() => mailsTo(test, "hooks@example.com").length === 1, "the mail");
    const [mail = ""] = mailsTo(test, "hooks@example.com");
    assert.match(mail, /^Subject: .*: a webhook was disabled\r$/m);
    assert.ok(mail.includes(id));
  });

  it("loses no event in a day, then receives all of them in order, and affects no other webhook (events.md E14)", async () => {
    const { id } = await create();
    const healthy = await startReceiver();
    await create({ url: healthy.url });
    receiver.answer = () => 500;
    const ids: string[] = [];
    for (let minute = 0; minute < 24 * 60; minute += 30) {
      if (minute < 600) ids.push(...(await checkIn(5)));
      test.advance(30 * minuteMs);
      await serveAll();
    }
    assert.equal((await webhook(id)).state, "failing");
    assert.ok(receiver.received.length < 100, `${receiver.received.length} attempts in a day`);
    assert.deepEqual(
      healthy.received.map(({ body }) => body.data.objectID),
      ids,
    );
    receiver.answer = () => 200;
    receiver.received.length = 0;
    test.advance(hourMs);
    await serveAll();
    test.advance(dayMs);
    await serveAll();
    assert.equal((await webhook(id)).state, "active");
    assert.deepEqual(new Set(objects()), new Set(ids));
    assert.deepEqual(await deliveries(id, "dead"), []);
    await healthy.close();
  });

  it("has its webhook disabled after five days; a resume continues it", async () => {
    const { id } = await create();
    receiver.answer = () => 500;
    await checkIn(5);
    for (let hour = 0; hour < 5 * 24 + 6; hour += 3) {
      test.advance(3 * hourMs);
      await serveAll();
    }
    assert.equal((await webhook(id)).state, "disabled");
  });
});

describe("deliveries that wait for a retry", () => {
  async function failOnce(count = 3): Promise<{ id: string; ids: string[] }> {
    const { id } = await create();
    receiver.answer = () => 500;
    const ids = await checkIn(count);
    await serveAll();
    receiver.answer = () => 200;
    receiver.received.length = 0;
    assert.equal((await deliveries(id, "failed")).length, count);
    return { id, ids };
  }

  // spec/webhooks#pause-and-resume
  it("are due when their webhook is resumed", async () => {
    const { id, ids } = await failOnce();
    await ask(`POST ${root}/${id}/pause`, {});
    await ask(`POST ${root}/${id}/resume`, {});
    await serveAll();
    assert.deepEqual(objects(), ids);
    assert.deepEqual(
      (await deliveries(id)).map(({ state, attempt }: { state: string; attempt: number }) => [state, attempt]),
      ids.map(() => ["delivered", 2]),
    );
  });

  // spec/webhooks#redeliver
  it("are sent again together by state failed", async () => {
    const { id, ids } = await failOnce();
    const { body } = await ask(`POST ${root}/${id}/redeliver`, { state: "failed" });
    assert.deepEqual(body.result, { accepted: 3 });
    await serveAll();
    assert.deepEqual(objects(), ids);
  });

  // spec/webhooks#redeliver
  it("are closed when the receiver accepts a repeat by an operator, so that the event is not sent once more", async () => {
    const { id, ids } = await failOnce(1);
    const [{ id: deliveryId }] = await deliveries(id, "failed");
    await ask(`POST ${root}/${id}/deliveries/${deliveryId}/redeliver`, {});
    await serveAll();
    assert.deepEqual(
      (await deliveries(id)).map(({ state, status }: { state: string; status: number }) => [state, status]),
      [
        ["delivered", 200],
        ["delivered", 200],
      ],
    );
    test.advance(10 * minuteMs);
    await serveAll();
    assert.deepEqual(objects(), ids);
  });
});

// spec/webhooks#redeliver
describe("logged events in a time range", () => {
  const at = (ms: number) => `${test.now() + ms}`;

  it("are sent to a webhook that never received them, and again to one that did", async () => {
    const types = ["checkin.*"];
    const first = await create({ types: ["user.*"] });
    const before = await checkIn(2);
    test.advance(hourMs);
    const from = at(0);
    const wanted = await checkIn(3);
    await test.call("PATCH /users/me", { token: jane.token, body: { firstName: "J" } });
    const to = at(0);
    test.advance(hourMs);
    await checkIn(1);
    await serveAll();
    receiver.received.length = 0;
    await ask(`PATCH ${root}/${first.id}`, { types });
    const second = await create();
    for (const { id } of [first, second]) {
      const { body, text } = await ask(`POST ${root}/${id}/redeliver`, { state: "logged", created: `${from}-${to}` });
      assert.deepEqual(body.result, { accepted: 3 }, text);
      const again = await ask(`POST ${root}/${id}/redeliver`, { state: "logged", created: `${from}-${to}` });
      assert.deepEqual(again.body.result, { accepted: 0 }, "they wait already");
      await serveAll();
    }
    assert.deepEqual(objects(), [...wanted, ...wanted]);
    assert.ok(receiver.received.every(({ headers }) => headers["rollcall-replay"] === "true"));
    assert.ok(!objects().some((each) => before.includes(each)));
  });

  it("need a range, and continue after a sequence", async () => {
    const { id } = await create();
    await checkIn(2);
    await serveAll();
    const created = `${at(-minuteMs)}-${at(minuteMs)}`;
    const missing = await ask(`POST ${root}/${id}/redeliver`, { state: "logged" });
    assert.deepEqual([missing.status, missing.body.error], [400, "ParameterMissingRequiredValue"]);
    const wrong = await ask(`POST ${root}/${id}/redeliver`, { state: "logged", created, after: "x" });
    assert.equal(wrong.body.error, "ParameterIncorrectFormat");
    const { sequence } = receiver.received[0]?.body ?? {};
    const behind = await ask(`POST ${root}/${id}/redeliver`, { state: "logged", created, after: sequence });
    assert.deepEqual(behind.body.result, { accepted: 1 });
  });
});

// spec/webhooks#pause-and-resume
it("a delivery that is in progress when its webhook is paused is not sent again after the resume", async () => {
  const { id } = await create();
  const [first, second] = await checkIn(2);
  const begun = Promise.withResolvers<void>();
  const released = Promise.withResolvers<number>();
  receiver.answer = () => {
    begun.resolve();
    return released.promise;
  };
  const served = serveAll();
  await begun.promise;
  await ask(`POST ${root}/${id}/pause`, {});
  released.resolve(200);
  await served;
  assert.deepEqual(objects(), [first]);
  await ask(`POST ${root}/${id}/resume`, {});
  await serveAll();
  assert.deepEqual(objects(), [first, second]);
  await ask(`POST ${root}/${id}/pause`, {});
  await checkIn(2);
  assert.deepEqual((await webhook(id)).behind, { events: 2, since: `/Date(${test.now()})/` });
  await ask(`POST ${root}/${id}/resume`, { from: "now" });
  const [last] = await checkIn(1);
  await serveAll();
  assert.deepEqual(objects(), [first, second, last]);
});

// spec/webhooks#gaps
it("a webhook whose pending events were deleted is notified of their time range before later events", async () => {
  const { id } = await create();
  await ask(`POST ${root}/${id}/pause`, {});
  await checkIn(2);
  test.advance(8 * dayMs);
  await test.app.eventLog.findEnd(application.appid);
  await test.app.eventLog.maintain(application.appid);
  const ids = await checkIn(2);
  await ask(`POST ${root}/${id}/resume`, {});
  await serveAll();
  const [gap, ...others] = receiver.received.map(({ body }) => body);
  assert.equal(gap.type, "webhook.gap");
  assert.match(gap.data.key, /^20[-0-9T:.]+Z\/20[-0-9T:.]+Z$/);
  assert.deepEqual(
    others.map(({ data }) => data.objectID),
    ids,
  );
});

it("attempts continue and leases expire when the clock is set back by an hour, and timestamps are current (events.md E26)", async () => {
  const { id } = await create();
  receiver.answer = () => 500;
  await checkIn(1);
  await serveAll();
  test.advance(-hourMs);
  receiver.answer = () => 200;
  const [, second] = [0, ...(await checkIn(1))];
  await serveAll();
  const last = receiver.received.at(-1);
  assert.equal(last?.body.data.objectID, second);
  assertIsNow(last?.headers["webhook-timestamp"]);
  test.advance(hourMs + minuteMs);
  await serveAll();
  assert.deepEqual(await deliveries(id, "failed"), []);
});

import { mayDo } from "../config/roles.ts";
import type { Static } from "../contract/schema.ts";
import type { WebhookDeliveryRow, WebhookRow } from "../db/tables.ts";
import { findEventId, listEvents } from "../event-log/log-rows.store.ts";
import { formatDate } from "../lib/dates.ts";
import { ApiError } from "../lib/errors.ts";
import { operation } from "../operations/operation.ts";
import type { Services } from "../operations/services.ts";
import { attemptDelivery, writeEnvelope } from "./webhooks.attempt.ts";
import {
  findDelivery,
  insertDeliveries,
  listDeliveries as listDeliveryRows,
  newDelivery,
  reopenDeliveries,
} from "./webhooks.deliveries.store.ts";
import { findLogged } from "./webhooks.log.ts";
import {
  DeliveryPage,
  DeliveryPath,
  DeliveryResult,
  ListDeliveries,
  presentDelivery,
  RedeliverWebhook,
  Redelivery,
  TestResult,
} from "./webhooks.operator.contract.ts";
import { keyOf, ofWebhook, requireWebhook, writeWebhook } from "./webhooks.operator.routes.ts";
import { updateWebhook, type WebhookKey } from "./webhooks.store.ts";

/** The number of events that one call sends again; the next call continues. */
const acceptedMax = 10_000;
const testsPerMinute = 6;
const minuteMs = 60_000;

const listDeliveries = operation({
  ...ofWebhook,
  method: "GET",
  path: `${ofWebhook.path}/deliveries`,
  operation: "listWebhookDeliveries",
  summary: "List the deliveries of a webhook, newest first",
  description: "Of the successful ones the newest 1,000 are kept.",
  parameters: ListDeliveries,
  status: 200,
  result: DeliveryPage,
  errors: ["ItemDoesNotExist"],
  async handle({ caller, path, parameters, call }, { paging, database: { reads } }) {
    const key = keyOf(path);
    await requireWebhook(key, reads);
    const listing = `webhook deliveries of ${key.id}`;
    const request = await paging.read(listing, caller, parameters, call);
    const { position, size, filters } = request;
    const page = await listDeliveryRows(key, filters, position, size, reads, call.work);
    const isEditor = mayDo(caller.role, "editor");
    return paging.present(listing, caller, request, page, (row) => presentDelivery(row, isEditor));
  },
});

const repeatDelivery = operation({
  ...ofWebhook,
  method: "POST",
  path: `${ofWebhook.path}/deliveries/{deliveryId}/redeliver`,
  operation: "repeatWebhookDelivery",
  summary: "Send the event of a delivery again",
  description: "Also one that was accepted. Receivers know the event by its id.",
  pathParameters: DeliveryPath,
  status: 201,
  result: DeliveryResult,
  errors: ["ItemDoesNotExist"],
  async handle({ path }, services) {
    const key = keyOf(path);
    const id = services.ids.newId("WebhookDelivery");
    const now = services.clock.now();
    const repeated = await writeWebhook(key, services, async (webhook, queries) => {
      const found = await findDelivery(key, path.deliveryId, queries);
      const logged = found && (await findEventId(path.appid, found.position, queries));
      if (found === undefined || logged !== found.event_id) throw new ApiError("ItemDoesNotExist");
      const event = { id: found.event_id, type: found.type, position: found.position };
      const row: WebhookDeliveryRow = { ...newDelivery({ ...webhook, log: found.log }, event, id, now), is_replay: 1 };
      await insertDeliveries([row], queries);
      await updateWebhook(key, { wake_at: now }, queries);
      return row;
    });
    return presentDelivery(repeated, true);
  },
});

const redeliver = operation({
  ...ofWebhook,
  method: "POST",
  path: `${ofWebhook.path}/redeliver`,
  operation: "redeliverWebhook",
  summary: "Send the events of deliveries again, or those of a range of time, the oldest 10,000",
  description: "Another call takes the next; with logged, it sends next as after.",
  parameters: RedeliverWebhook,
  status: 200,
  result: Redelivery,
  errors: ["ItemDoesNotExist"],
  async handle({ path, parameters }, services) {
    const { state = "dead", after: _, ...filters } = parameters;
    const key = keyOf(path);
    if (state === "logged") return redeliverLogged(key, parameters, services);
    const now = services.clock.now();
    const accepted = await writeWebhook(key, services, async (_webhook, queries) => {
      const [oldest] = await listEvents(path.appid, 0, 1, queries);
      if (oldest === undefined) return 0;
      const bounds = { oldestPosition: oldest.position, count: acceptedMax, now };
      const count = await reopenDeliveries(key, { ...filters, state }, bounds, queries);
      if (count > 0) await updateWebhook(key, { wake_at: now }, queries);
      return count;
    });
    return { accepted };
  },
});

/** Sends logged events of a time range again, also those that the webhook has already received. */
async function redeliverLogged(
  key: WebhookKey,
  { created, type, after }: Static<typeof RedeliverWebhook>,
  services: Services,
): Promise<Static<typeof Redelivery>> {
  const { database, clock, ids, eventLog } = services;
  const row = await requireWebhook(key, database.reads);
  if (created === undefined) {
    throw new ApiError("ParameterMissingRequiredValue", "created is required with the state logged.", {
      parameter: "created",
    });
  }
  await eventLog.settle(key.applicationId);
  const range = { created, type, after: after === undefined ? undefined : readSequence(after) };
  const { log, events, next } = await findLogged(row, range, acceptedMax, database);
  const now = clock.now();
  const replays = events.map((event) => ({
    ...newDelivery({ ...row, log }, event, ids.newId("WebhookDelivery"), now),
    is_replay: 1,
  }));
  await writeWebhook(key, services, async (_webhook, queries) => {
    await insertDeliveries(replays, queries);
    if (replays.length > 0) await updateWebhook(key, { wake_at: now }, queries);
  });
  return { accepted: replays.length, ...(next !== undefined && { next: `${next}` }) };
}

/** @throws ApiError ParameterIncorrectFormat */
function readSequence(after: string): number {
  const position = /^\d+$/.test(after) ? Number(after) : Number.NaN;
  if (Number.isSafeInteger(position)) return position;
  throw new ApiError("ParameterIncorrectFormat", "after must be next of an earlier call.", { parameter: "after" });
}

const testWebhook = operation({
  ...ofWebhook,
  method: "POST",
  path: `${ofWebhook.path}/test`,
  operation: "testWebhook",
  summary: "Send a test event to a webhook at once",
  description: "Once, in any state of the webhook; six in a minute.",
  status: 200,
  result: TestResult,
  errors: ["ItemDoesNotExist"],
  async handle({ path }, services) {
    const { database, webhookSealer, clock } = services;
    const key = keyOf(path);
    const webhook = await requireWebhook(key, database.reads);
    const opened = webhookSealer.open(webhook, clock.now());
    if (opened === undefined) {
      throw new ApiError("ParameterOutOfRange", "The webhook needs its headers and a secret first.");
    }
    // Outside the transaction, which must neither stay open during the attempt nor roll back its count.
    const isAdmitted = await database.outsideTransaction("a test event is admitted", () => admitTest(key, services), {
      hasEffect: true,
    });
    if (!isAdmitted) {
      const message = "A webhook can be tested six times a minute.";
      throw new ApiError("RateLimitExceeded", message, { retryAfterSeconds: minuteMs / 1_000 });
    }
    const message = { ...newTestEvent(webhook, services), attempt: 1, isReplay: false };
    const attempt = () => attemptDelivery(webhook, opened, message, services);
    const result = await database.outsideTransaction(`test of ${key.id}`, attempt, { hasEffect: true });
    const { outcome: _, holdMs: __, ms = 0, ...answer } = result;
    return { ...answer, ms };
  },
});

function admitTest(key: WebhookKey, services: Services): Promise<boolean> {
  return writeWebhook(key, services, async ({ tests, tests_since }, queries) => {
    const now = services.clock.now();
    const isNew = now < tests_since || now >= tests_since + minuteMs;
    if (!isNew && tests >= testsPerMinute) return false;
    await updateWebhook(key, isNew ? { tests: 1, tests_since: now } : { tests: tests + 1 }, queries);
    return true;
  });
}

/** Returns an event that is in no log. */
function newTestEvent({ application_id, id: objectID }: WebhookRow, { ids, clock, serverUrl }: Services) {
  const at = clock.now();
  const id = ids.newId("Event");
  const shown = { id, type: "webhook.test", created: formatDate(at), objectID, sequence: "0".repeat(20) };
  return { id, body: writeEnvelope({ application_id, at }, shown, serverUrl()) };
}

/** Tests a webhook, and lists and repeats its deliveries (spec/webhooks#deliveries). */
export const webhookDeliveryOperations = [listDeliveries, repeatDelivery, redeliver, testWebhook];

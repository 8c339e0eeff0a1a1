import { applicationPathParameters, requireApplication } from "../auth/operated-application.ts";
import { mayDo } from "../config/roles.ts";
import { PageOf, pagingParameters } from "../contract/paging.ts";
import { enumeration, named, type Static, Type } from "../contract/schema.ts";
import { Choice, DateRangeInput, IdInput, Text, WireDate } from "../contract/wire.ts";
import type { Queries } from "../db/database.ts";
import { lockRow } from "../db/lock.ts";
import type { DeliveryState, WebhookDeliveryRow } from "../db/tables.ts";
import { findEventId, listEvents } from "../event-log/log-rows.store.ts";
import { formatDate } from "../lib/dates.ts";
import { ApiError } from "../lib/errors.ts";
import { operation } from "../operations/operation.ts";
import type { Services } from "../operations/services.ts";
import {
  findDelivery,
  insertDeliveries,
  listDeliveries as listDeliveryRows,
  listOldestDeliveries,
  reopenDeliveries,
} from "./webhooks.deliveries.store.ts";
import { acceptedMax, findLogged, replaysOf } from "./webhooks.logged.ts";
import { WebhookPath } from "./webhooks.operator.contract.ts";
import { requireWebhook } from "./webhooks.operator.routes.ts";
import { updateWebhook } from "./webhooks.store.ts";

const DeliveryPath = Type.Object({
  ...applicationPathParameters,
  webhookId: IdInput("Webhook"),
  deliveryId: IdInput("WebhookDelivery"),
});

const State = enumeration<DeliveryState>("WebhookDeliveryState", "The state of a delivery.", {
  waiting: "It will be attempted.",
  delivered: "The receiver has accepted it.",
  failed: "The last attempt failed, and another one comes.",
  dead: "All attempts failed.",
  refused: "The URL leads to an address that webhooks may not reach.",
});
const Redeliverable = enumeration("WebhookRedeliverable", "Deliveries that can be sent again together.", {
  dead: "All attempts failed.",
  failed: "The last attempt failed, and the next one is made at once.",
  refused: "The URL led to an address that webhooks may not reach.",
  logged: "Every event of the log that was written in the range `created`, also what was never sent to the webhook.",
});

const filters = {
  type: Type.Optional(Text({ maxLength: 100, description: "Only events of this type." })),
  created: Type.Optional(DateRangeInput({ description: "When the delivery began." })),
};

export const ListDeliveries = Type.Object({
  state: Type.Optional(Choice(State, { description: "Only deliveries in this state." })),
  eventID: Type.Optional(IdInput("Event")),
  ...filters,
  ...pagingParameters,
});
const sequenceCharactersMax = 20;
const RedeliverWebhook = Type.Object({
  state: Type.Optional(Choice(Redeliverable, { default: "dead" })),
  ...filters,
  created: Type.Optional(
    DateRangeInput({ description: "When the delivery began; when the event was written, which logged requires." }),
  ),
  after: Type.Optional(
    Text({ maxLength: sequenceCharactersMax, description: "With logged: next of the call before, to continue." }),
  ),
});

const Accepted = named(
  "WebhookRedelivery",
  "The numbers of deliveries to send again.",
  Type.Object({
    accepted: Type.Integer({ description: "The number of events, at most 10,000." }),
    next: Type.Optional(
      Type.String({ description: "With logged, if there may be more events in the range: after of the next call." }),
    ),
  }),
);

const DeliveryResult = named(
  "WebhookDelivery",
  "The delivery of an event to a webhook.",
  Type.Object({
    id: Type.String(),
    eventID: { ...Type.String(), description: "The receiver knows it as webhook-id." },
    type: { ...Type.String(), description: "Of the event." },
    attempt: Type.Integer({ description: "Attempts so far." }),
    state: State,
    status: Type.Optional(Type.Integer({ description: "Of the last answer." })),
    ms: Type.Optional(Type.Integer({ description: "The duration of the last attempt." })),
    error: Type.Optional(Type.String({ description: "The reason for a missing answer." })),
    response: Type.Optional(
      Type.String({ description: "The first 1,024 characters of the last answer; not for viewers." }),
    ),
    created: WireDate,
    nextAttempt: Type.Optional({ ...WireDate, description: "The time of the next attempt." }),
  }),
);
export const DeliveryPage = PageOf(DeliveryResult);

/** @param isEditor whether the reader may see the receiver's response */
function presentDelivery(row: WebhookDeliveryRow, isEditor: boolean): Static<typeof DeliveryResult> {
  return {
    id: row.id,
    eventID: row.event_id,
    type: row.type,
    attempt: row.attempt,
    state: row.state,
    ...(row.status !== null && { status: row.status }),
    ...(row.ms !== null && { ms: row.ms }),
    ...(row.error !== null && { error: row.error }),
    ...(isEditor && row.response !== null && { response: row.response }),
    created: formatDate(row.created_at),
    ...(row.next_attempt_at !== null && { nextAttempt: formatDate(row.next_attempt_at) }),
  };
}

const rowsPerStep = 1_000;

const listDeliveries = operation({
  method: "GET",
  path: "/_/api/applications/{appid}/webhooks/{webhookId}/deliveries",
  operation: "listWebhookDeliveries",
  summary: "List the deliveries of a webhook, newest first",
  description: "Of the successful ones the newest 1,000 are kept.",
  tag: "Operators",
  caller: "operator",
  pathParameters: WebhookPath,
  parameters: ListDeliveries,
  status: 200,
  result: DeliveryPage,
  errors: ["ItemDoesNotExist"],
  async handle({ caller, path: { appid, webhookId }, parameters, call }, { paging, database: { reads } }) {
    await requireApplication(appid, reads);
    await requireWebhook(appid, webhookId, reads);
    const listing = `webhook deliveries of ${webhookId}`;
    const request = await paging.read(listing, caller, parameters, call);
    const { position, size, filters } = request;
    const page = await listDeliveryRows(appid, webhookId, filters, position, size, reads, call.work);
    const isEditor = mayDo(caller.role, "editor");
    return paging.present(listing, caller, request, page, (row) => presentDelivery(row, isEditor));
  },
});

const repeatDelivery = operation({
  method: "POST",
  path: "/_/api/applications/{appid}/webhooks/{webhookId}/deliveries/{deliveryId}/redeliver",
  operation: "repeatWebhookDelivery",
  summary: "Send the event of a delivery again",
  description: "Also one that was accepted. Receivers know the event by its id.",
  tag: "Operators",
  caller: "operator",
  pathParameters: DeliveryPath,
  status: 201,
  result: DeliveryResult,
  errors: ["ItemDoesNotExist"],
  async handle({ path: { appid, webhookId, deliveryId } }, { database, clock, ids }) {
    await requireApplication(appid, database.reads);
    const id = ids.newId("WebhookDelivery");
    const now = clock.now();
    const repeated = await database.write(async ({ queries }) => {
      await lockRow(database.dialect, "webhooks", appid, webhookId, queries);
      await requireWebhook(appid, webhookId, queries);
      const found = await findDelivery(appid, webhookId, deliveryId, queries);
      if (found === undefined || !(await isInLog(found, queries))) throw new ApiError("ItemDoesNotExist");
      const row: WebhookDeliveryRow = {
        ...found,
        id,
        attempt: 0,
        state: "waiting",
        ...{ status: null, ms: null, error: null, response: null },
        is_replay: 1,
        created_at: now,
        next_attempt_at: now,
      };
      await insertDeliveries([row], queries);
      await updateWebhook(appid, webhookId, { wake_at: now }, queries);
      return row;
    });
    return presentDelivery(repeated, true);
  },
});

const redeliver = operation({
  method: "POST",
  path: "/_/api/applications/{appid}/webhooks/{webhookId}/redeliver",
  operation: "redeliverWebhook",
  summary: "Send the events of deliveries again, or those of a range of time, the oldest 10,000",
  description: "Another call takes the next; with logged, it sends next as after.",
  tag: "Operators",
  caller: "operator",
  pathParameters: WebhookPath,
  parameters: RedeliverWebhook,
  status: 200,
  result: Accepted,
  errors: ["ItemDoesNotExist"],
  async handle({ path, parameters }, services) {
    const { appid, webhookId } = path;
    const { state = "dead", after: _, ...filters } = parameters;
    const { database, clock } = services;
    await requireApplication(appid, database.reads);
    if (state === "logged") return redeliverLogged(path, parameters, services);
    const now = clock.now();
    const accepted = await database.write(async ({ queries }) => {
      await lockRow(database.dialect, "webhooks", appid, webhookId, queries);
      await requireWebhook(appid, webhookId, queries);
      const [oldestEvent] = await listEvents(appid, 0, 1, queries);
      if (oldestEvent === undefined) return 0;
      const keptFrom = oldestEvent.position;
      let count = 0;
      let after = "";
      while (count < acceptedMax) {
        const size = Math.min(rowsPerStep, acceptedMax - count);
        const found = await listOldestDeliveries(
          appid,
          webhookId,
          { ...filters, state, after, keptFrom },
          size,
          queries,
        );
        if (found.length === 0) break;
        after = found.at(-1)?.id ?? after;
        const oldest = found.map(({ id }) => id);
        await reopenDeliveries(appid, webhookId, oldest, now, queries);
        count += found.length;
      }
      if (count > 0) await updateWebhook(appid, webhookId, { wake_at: now }, queries);
      return count;
    });
    return { accepted };
  },
});

/** Sends logged events of a time range again, also those that the webhook has already received. */
async function redeliverLogged(
  { appid, webhookId }: Static<typeof WebhookPath>,
  { created, type, after }: Static<typeof RedeliverWebhook>,
  { database, clock, ids, eventLog }: Services,
): Promise<Static<typeof Accepted>> {
  if (created === undefined) {
    throw new ApiError("ParameterMissingRequiredValue", "created is required with the state logged.", {
      parameter: "created",
    });
  }
  const row = await requireWebhook(appid, webhookId, database.reads);
  await eventLog.settle(appid);
  const found = await findLogged(
    row,
    { created, type, after: after === undefined ? undefined : readSequence(after) },
    database,
  );
  const now = clock.now();
  const replays = replaysOf(row, found, now, () => ids.newId("WebhookDelivery"));
  await database.write(async ({ queries }) => {
    await lockRow(database.dialect, "webhooks", appid, webhookId, queries);
    await requireWebhook(appid, webhookId, queries);
    for (let from = 0; from < replays.length; from += rowsPerStep)
      await insertDeliveries(replays.slice(from, from + rowsPerStep), queries);
    if (replays.length > 0) await updateWebhook(appid, webhookId, { wake_at: now }, queries);
  });
  return { accepted: replays.length, ...(found.next !== undefined && { next: `${found.next}` }) };
}

/** @throws ApiError ParameterIncorrectFormat */
function readSequence(after: string): number {
  const position = /^\d+$/.test(after) ? Number(after) : Number.NaN;
  if (Number.isSafeInteger(position)) return position;
  throw new ApiError("ParameterIncorrectFormat", "after must be next of an earlier call.", { parameter: "after" });
}

/** Whether the log still has the event. */
async function isInLog({ application_id, event_id, position }: WebhookDeliveryRow, queries: Queries): Promise<boolean> {
  return (await findEventId(application_id, position, queries)) === event_id;
}

/** Lists and repeats the deliveries of a webhook (spec/webhooks#deliveries). */
export const webhookDeliveryOperations = [listDeliveries, repeatDelivery, redeliver];

import { requireApplication } from "../auth/operated-application.ts";
import { mayDo } from "../config/roles.ts";
import type { OperatorCaller } from "../contract/route.ts";
import { Type } from "../contract/schema.ts";
import type { Queries } from "../db/database.ts";
import { lockApplication, lockRow } from "../db/lock.ts";
import type { WebhookRow } from "../db/tables.ts";
import type { Cursor } from "../event-log/cursors.ts";
import { formatDate } from "../lib/dates.ts";
import { ApiError } from "../lib/errors.ts";
import { operation } from "../operations/operation.ts";
import type { Services } from "../operations/services.ts";
import { makeDeliveriesDue } from "./webhooks.deliveries.store.ts";
import { readHeaders, readStoredPatterns, readTypes, requireWebhookUrl, writePatterns } from "./webhooks.fields.ts";
import { healthyColumns } from "./webhooks.health.ts";
import {
  type Backlog,
  ChangeWebhook,
  CreatedWebhook,
  CreateWebhook,
  ListWebhooks,
  presentWebhook,
  ResumeWebhook,
  RotatedSecret,
  RotateSecret,
  type WebhookChange,
  WebhookPage,
  WebhookPath,
  WebhookResult,
  WebhooksPath,
} from "./webhooks.operator.contract.ts";
import { newWebhookSecret } from "./webhooks.secrets.ts";
import {
  countWebhooks,
  deleteDeliveries,
  deleteWebhook,
  findWebhook,
  insertWebhook,
  listWebhooks as listWebhookRows,
  updateWebhook,
  type WebhookColumns,
} from "./webhooks.store.ts";
import { findBacklog } from "./webhooks.watch.ts";

const webhooksMax = 20;
const hourMs = 3_600_000;

const createWebhook = operation({
  method: "POST",
  path: "/_/api/applications/{appid}/webhooks",
  operation: "createWebhook",
  summary: "Send the events of an application to a URL, from now on",
  description: "The secret that signs them is shown only once.",
  tag: "Operators",
  caller: "operator",
  pathParameters: WebhooksPath,
  parameters: CreateWebhook,
  status: 201,
  result: CreatedWebhook,
  errors: ["AuthAPICallDisabledByDeveloper", "ItemDoesNotExist"],
  async handle({ caller, path: { appid }, parameters }, services) {
    const { database, clock, ids, webhookSealer, webhookRunner } = services;
    await requireApplication(appid, database.reads);
    requireOwnerFor(parameters, undefined, caller);
    const id = ids.newId("Webhook");
    const columns = readColumns(appid, id, parameters, services);
    const patterns = readTypes(parameters.types);
    await requireUrl(parameters.url, services);
    const cursor = await findEnd(appid, services);
    const secret = newWebhookSecret();
    const now = clock.now();
    const row: WebhookRow = {
      application_id: appid,
      id,
      ...newColumns,
      ...columns,
      types: writePatterns(patterns, () => 0),
      secret: webhookSealer.sealSecret(appid, id, secret),
      secret_at: now,
      ...cursorColumns(cursor, now),
      created_at: now,
      modified_at: now,
    };
    await database.write(async ({ queries }) => {
      await lockApplication(database.dialect, appid, queries);
      if ((await countWebhooks(appid, queries)) >= webhooksMax) {
        throw new ApiError("RequestTooLarge", `An application has at most ${webhooksMax} webhooks. Delete one.`);
      }
      await insertWebhook(row, queries);
    });
    database.afterCommit(() => webhookRunner.expect(appid));
    return { ...presentWebhook(row, noBacklog, now), secret };
  },
});

const noBacklog: Backlog = { events: 0, isAtLeast: false, since: undefined };

/** The default columns of a new webhook. */
const newColumns = {
  name: "",
  url: "",
  types: "[]",
  format: "standard",
  header_names: "[]",
  headers: null,
  concurrency: 4,
  timeout_ms: 15_000,
  per_second: 100,
  true_locations: 0,
  state: "active",
  older_secret: null,
  older_secret_at: 0,
  older_secret_ends_at: 0,
  turn: 0,
  lease_holder: "",
  lease_ends_at: 0,
  wake_at: null,
  ...healthyColumns,
  last_success_at: null,
  last_failure_at: null,
  mail_due_at: null,
  tests: 0,
  tests_since: 0,
} as const satisfies Partial<WebhookRow>;

const listWebhooks = operation({
  method: "GET",
  path: "/_/api/applications/{appid}/webhooks",
  operation: "listWebhooks",
  summary: "List the webhooks of an application, oldest first",
  description: "Secrets and the values of headers are not shown.",
  tag: "Operators",
  caller: "operator",
  pathParameters: WebhooksPath,
  parameters: ListWebhooks,
  status: 200,
  result: WebhookPage,
  errors: ["ItemDoesNotExist"],
  async handle({ caller, path: { appid }, parameters, call }, { paging, clock, database: { reads } }) {
    await requireApplication(appid, reads);
    const listing = `webhooks of ${appid}`;
    const request = await paging.read(listing, caller, parameters, call);
    const page = await listWebhookRows(appid, request.position, request.size, reads);
    const backlogs = new Map<string, Backlog>();
    for (const row of page.rows) backlogs.set(row.id, await findBacklog(row, reads));
    return paging.present(listing, caller, request, page, (row) =>
      presentWebhook(row, backlogs.get(row.id) ?? noBacklog, clock.now()),
    );
  },
});

const getWebhook = operation({
  method: "GET",
  path: "/_/api/applications/{appid}/webhooks/{webhookId}",
  operation: "getWebhook",
  summary: "Read a webhook",
  description: "Its secrets and the values of its headers are not shown.",
  tag: "Operators",
  caller: "operator",
  pathParameters: WebhookPath,
  status: 200,
  result: WebhookResult,
  errors: ["ItemDoesNotExist"],
  async handle({ path: { appid, webhookId } }, services) {
    await requireApplication(appid, services.database.reads);
    return present(await requireWebhook(appid, webhookId, services.database.reads), services);
  },
});

const changeWebhook = operation({
  method: "PATCH",
  path: "/_/api/applications/{appid}/webhooks/{webhookId}",
  operation: "changeWebhook",
  summary: "Change a webhook, from the next attempt on",
  description: "The secret stays. Types that are added begin with the events after the call.",
  tag: "Operators",
  caller: "operator",
  pathParameters: WebhookPath,
  parameters: ChangeWebhook,
  status: 200,
  result: WebhookResult,
  errors: ["AuthAPICallDisabledByDeveloper", "ItemDoesNotExist", "ObjectPermissionDenied"],
  async handle({ caller, path: { appid, webhookId }, parameters }, services) {
    const { database, clock } = services;
    await requireApplication(appid, database.reads);
    const found = await requireWebhook(appid, webhookId, database.reads);
    requireOwnerFor(parameters, found, caller);
    const { url, types } = parameters;
    const columns = readColumns(appid, webhookId, parameters, services);
    const patterns = types === undefined ? undefined : readTypes(types);
    if (url !== undefined) await requireUrl(url, services);
    const end = patterns && (await findEnd(appid, services));
    return change(appid, webhookId, services, (current) => {
      requireOwnerFor(parameters, current, caller);
      const known = readStoredPatterns(current.types);
      const placed = patterns && end && writePatterns(patterns, (pattern) => known[pattern] ?? end.position);
      return { ...columns, ...(placed !== undefined && { types: placed }), modified_at: clock.now() };
    });
  },
});

const removeWebhook = operation({
  method: "DELETE",
  path: "/_/api/applications/{appid}/webhooks/{webhookId}",
  operation: "deleteWebhook",
  summary: "Delete a webhook with its deliveries",
  description: "Events that are under way are not waited for.",
  tag: "Operators",
  caller: "operator",
  pathParameters: WebhookPath,
  status: 200,
  result: Type.Literal(true),
  errors: ["ItemDoesNotExist"],
  async handle({ path: { appid, webhookId } }, { database, background }) {
    await requireApplication(appid, database.reads);
    const isThere = await database.write(({ queries }) => deleteWebhook(appid, webhookId, queries));
    if (!isThere) throw new ApiError("ItemDoesNotExist");
    background.run(`deliveries of ${webhookId}`, async (signal) => {
      while (await database.write(({ queries }) => deleteDeliveries(appid, webhookId, queries))) {
        signal.throwIfAborted(); // if aborted, maintenance deletes the rest
      }
    });
    return true as const;
  },
});

const rotateSecret = operation({
  method: "POST",
  path: "/_/api/applications/{appid}/webhooks/{webhookId}/rotate-secret",
  operation: "rotateWebhookSecret",
  summary: "Replace the secret of a webhook; the new one is shown only once",
  description: "For some hours events are signed with the old secret, too. A secret from before that ends at once.",
  tag: "Operators",
  caller: "operator",
  pathParameters: WebhookPath,
  parameters: RotateSecret,
  status: 200,
  result: RotatedSecret,
  errors: ["ItemDoesNotExist"],
  async handle({ path: { appid, webhookId }, parameters: { overlapHours = 24 } }, services) {
    const { clock, webhookSealer } = services;
    await requireApplication(appid, services.database.reads);
    const secret = newWebhookSecret();
    const now = clock.now();
    const ends = now + overlapHours * hourMs;
    const changed = await changeRow(appid, webhookId, services, (current) => {
      const hasPrevious = current.secret !== null && overlapHours > 0;
      return {
        secret: webhookSealer.sealSecret(appid, webhookId, secret),
        secret_at: now,
        older_secret: hasPrevious ? current.secret : null,
        older_secret_at: hasPrevious ? current.secret_at : 0,
        older_secret_ends_at: hasPrevious ? ends : 0,
        modified_at: now,
      };
    });
    return { secret, ...(changed.older_secret !== null && { previousEnds: formatDate(ends) }) };
  },
});

const pauseWebhook = operation({
  method: "POST",
  path: "/_/api/applications/{appid}/webhooks/{webhookId}/pause",
  operation: "pauseWebhook",
  summary: "Stop sending events to a webhook",
  description: "They wait as long as the log keeps them.",
  tag: "Operators",
  caller: "operator",
  pathParameters: WebhookPath,
  status: 200,
  result: WebhookResult,
  errors: ["ItemDoesNotExist"],
  async handle({ path: { appid, webhookId } }, services) {
    await requireApplication(appid, services.database.reads);
    return change(appid, webhookId, services, () => ({
      ...healthyColumns,
      state: "paused",
      modified_at: services.clock.now(),
    }));
  },
});

const resumeWebhook = operation({
  method: "POST",
  path: "/_/api/applications/{appid}/webhooks/{webhookId}/resume",
  operation: "resumeWebhook",
  summary: "Send events to a webhook again",
  description: "Also to one that is failing or disabled. Deliveries that wait for another attempt are due at once.",
  tag: "Operators",
  caller: "operator",
  pathParameters: WebhookPath,
  parameters: ResumeWebhook,
  status: 200,
  result: WebhookResult,
  errors: ["AuthAPICallDisabledByDeveloper", "ItemDoesNotExist"],
  async handle({ path: { appid, webhookId }, parameters: { from = "stopped" } }, services) {
    const { database, clock, webhookSealer, webhookRunner } = services;
    await requireApplication(appid, database.reads);
    await requireWebhook(appid, webhookId, database.reads);
    const end = await findEnd(appid, services);
    const now = clock.now();
    const makeDue = (queries: Queries) => makeDeliveriesDue(appid, webhookId, now, queries);
    const columnsFor = (current: WebhookRow): WebhookColumns => {
      if (webhookSealer.open(current, now) === undefined) {
        const message = "Set the headers and rotate the secret of the webhook first, which an import does not bring.";
        throw new ApiError("ParameterOutOfRange", message);
      }
      const isMoved = from === "now" || current.log === ""; // an imported webhook has no position in this log
      return {
        ...healthyColumns,
        state: "active",
        wake_at: now,
        ...(isMoved && { ...cursorColumns(end, now), turn: current.turn + 1 }),
        modified_at: now,
      };
    };
    const resumed = await change(appid, webhookId, services, columnsFor, makeDue);
    database.afterCommit(() => webhookRunner.expect(appid));
    return resumed;
  },
});

function cursorColumns({ log, position, id }: Cursor, now: number) {
  return { log, position, event_id: id, position_at: now };
}

/** Returns the columns that a request changes. @throws ApiError ParameterIncorrectFormat, ParameterOutOfRange */
function readColumns(
  appid: string,
  id: string,
  { url, name, format, headers, concurrency, timeoutMs, perSecond, trueLocations }: WebhookChange,
  { webhookSealer }: Pick<Services, "webhookSealer">,
): WebhookColumns {
  const ownHeaders = headers === undefined ? undefined : readHeaders(headers);
  return {
    ...(url !== undefined && { url }),
    ...(name !== undefined && { name }),
    ...(format !== undefined && { format }),
    ...(ownHeaders !== undefined && {
      header_names: JSON.stringify([...ownHeaders.keys()]),
      headers: webhookSealer.sealHeaders(appid, id, ownHeaders),
    }),
    ...(concurrency !== undefined && { concurrency }),
    ...(timeoutMs !== undefined && { timeout_ms: timeoutMs }),
    ...(perSecond !== undefined && { per_second: perSecond }),
    ...(trueLocations !== undefined && { true_locations: trueLocations ? 1 : 0 }),
  };
}

/**
 * Only owners may let a webhook send true locations, or change the URL of one that does.
 *
 * @throws ApiError ObjectPermissionDenied
 */
function requireOwnerFor(
  { url, headers, trueLocations }: WebhookChange,
  current: WebhookRow | undefined,
  { role }: OperatorCaller,
): void {
  const isTrue = current?.true_locations === 1;
  const isSwitched = trueLocations !== undefined && trueLocations !== isTrue;
  const isLedElsewhere = isTrue && (url !== undefined || headers !== undefined);
  if ((isSwitched || isLedElsewhere) && !mayDo(role, "owner")) throw new ApiError("ObjectPermissionDenied");
}

function requireUrl(url: string, { database, outgoing }: Services): Promise<void> {
  return database.outsideTransaction(`webhook at ${url}`, () => requireWebhookUrl(url, outgoing), { hasEffect: true });
}

/** Returns the end of the log, which records events from then on. */
function findEnd(appid: string, { database, eventLog }: Services): Promise<Cursor> {
  return database.outsideTransaction(`end of the log of ${appid}`, () => eventLog.findEnd(appid), { hasEffect: true });
}

/** @throws ApiError ItemDoesNotExist */
export async function requireWebhook(appid: string, id: string, queries: Queries): Promise<WebhookRow> {
  const row = await findWebhook(appid, id, queries);
  if (row === undefined) throw new ApiError("ItemDoesNotExist");
  return row;
}

type ColumnsFor = (current: WebhookRow) => WebhookColumns;

/**
 * Changes a webhook depending on its current state.
 *
 * @param also runs in the same transaction
 * @throws ApiError ItemDoesNotExist
 */
function changeRow(
  appid: string,
  id: string,
  { database }: Services,
  columnsFor: ColumnsFor,
  also?: (queries: Queries) => Promise<void>,
): Promise<WebhookRow> {
  return database.write(async ({ queries }) => {
    await lockRow(database.dialect, "webhooks", appid, id, queries);
    const current = await requireWebhook(appid, id, queries);
    const columns = columnsFor(current);
    await updateWebhook(appid, id, columns, queries);
    await also?.(queries);
    return { ...current, ...columns };
  });
}

async function change(
  appid: string,
  id: string,
  services: Services,
  columnsFor: ColumnsFor,
  also?: (queries: Queries) => Promise<void>,
) {
  return present(await changeRow(appid, id, services, columnsFor, also), services);
}

async function present(row: WebhookRow, { database, clock }: Services) {
  return presentWebhook(row, await findBacklog(row, database.reads), clock.now());
}

/** Operators create, change, pause and delete the webhooks of an application (spec/webhooks). */
export const webhookOperations = [
  createWebhook,
  listWebhooks,
  getWebhook,
  changeWebhook,
  removeWebhook,
  rotateSecret,
  pauseWebhook,
  resumeWebhook,
];

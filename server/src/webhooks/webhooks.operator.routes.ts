import { requireApplication } from "../auth/operated-application.ts";
import { Type } from "../contract/schema.ts";
import type { Queries } from "../db/database.ts";
import { lockApplication, lockRow } from "../db/lock.ts";
import { inSteps } from "../db/steps.ts";
import type { WebhookRow } from "../db/tables.ts";
import type { Cursor } from "../event-log/cursors.ts";
import { formatDate } from "../lib/dates.ts";
import { ApiError } from "../lib/errors.ts";
import { operation } from "../operations/operation.ts";
import type { Services } from "../operations/services.ts";
import { deleteDeliveries, findBacklog, makeDeliveriesDue } from "./webhooks.deliveries.store.ts";
import { newColumns, readColumns, readTypes, requireOwnerFor, requireWebhookUrl } from "./webhooks.fields.ts";
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
  WebhookPage,
  WebhookPath,
  WebhookResult,
  WebhooksPath,
} from "./webhooks.operator.contract.ts";
import { healthyColumns } from "./webhooks.results.ts";
import { newWebhookSecret } from "./webhooks.secrets.ts";
import {
  countWebhooks,
  deleteWebhook,
  findWebhook,
  insertWebhook,
  listWebhooks as listWebhookRows,
  readStoredPatterns,
  updateWebhook,
  type WebhookColumns,
  type WebhookKey,
  writePatterns,
} from "./webhooks.store.ts";

const webhooksMax = 20;
const hourMs = 3_600_000;

const path = "/_/api/applications/{appid}/webhooks";
const all = { path, tag: "Operators", caller: "operator", pathParameters: WebhooksPath } as const;
/** What the operations of one webhook have in common. */
export const ofWebhook = { ...all, path: `${path}/{webhookId}`, pathParameters: WebhookPath } as const;

/** @throws ApiError ItemDoesNotExist */
export async function requireWebhook(key: WebhookKey, queries: Queries): Promise<WebhookRow> {
  await requireApplication(key.applicationId, queries);
  const row = await findWebhook(key, queries);
  if (row === undefined) throw new ApiError("ItemDoesNotExist");
  return row;
}

/** Names the webhook of a path. */
export function keyOf({ appid, webhookId }: { readonly appid: string; readonly webhookId: string }): WebhookKey {
  return { applicationId: appid, id: webhookId };
}

/**
 * Runs a transaction that changes a webhook, with the row locked.
 *
 * @throws ApiError ItemDoesNotExist
 */
export function writeWebhook<T>(
  key: WebhookKey,
  { database }: Pick<Services, "database">,
  work: (current: WebhookRow, queries: Queries) => Promise<T>,
): Promise<T> {
  return database.write(async ({ queries }) => {
    await lockRow(database.dialect, "webhooks", key.applicationId, key.id, queries);
    return work(await requireWebhook(key, queries), queries);
  });
}

const createWebhook = operation({
  ...all,
  method: "POST",
  operation: "createWebhook",
  summary: "Send the events of an application to a URL, from now on",
  description: "The secret that signs them is shown only once.",
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
      ...newColumns,
      ...columns,
      ...{ application_id: appid, id, types: writePatterns(patterns, () => 0) },
      ...{ secret: webhookSealer.sealSecret(appid, id, secret), secret_at: now },
      ...cursorColumns(cursor, now),
      ...{ created_at: now, modified_at: now },
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

const listWebhooks = operation({
  ...all,
  method: "GET",
  operation: "listWebhooks",
  summary: "List the webhooks of an application, oldest first",
  description: "Secrets and the values of headers are not shown.",
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
  ...ofWebhook,
  method: "GET",
  operation: "getWebhook",
  summary: "Read a webhook",
  description: "Its secrets and the values of its headers are not shown.",
  status: 200,
  result: WebhookResult,
  errors: ["ItemDoesNotExist"],
  async handle({ path }, services) {
    return present(await requireWebhook(keyOf(path), services.database.reads), services);
  },
});

const changeWebhook = operation({
  ...ofWebhook,
  method: "PATCH",
  operation: "changeWebhook",
  summary: "Change a webhook, from the next attempt on",
  description: "The secret stays. Types that are added begin with the events after the call.",
  parameters: ChangeWebhook,
  status: 200,
  result: WebhookResult,
  errors: ["AuthAPICallDisabledByDeveloper", "ItemDoesNotExist", "ObjectPermissionDenied"],
  async handle({ caller, path, parameters }, services) {
    const key = keyOf(path);
    const { appid, webhookId } = path;
    requireOwnerFor(parameters, await requireWebhook(key, services.database.reads), caller);
    const { url, types } = parameters;
    const columns = readColumns(appid, webhookId, parameters, services);
    const patterns = types === undefined ? undefined : readTypes(types);
    if (url !== undefined) await requireUrl(url, services);
    const end = patterns && (await findEnd(appid, services));
    const changed = await changeRow(key, services, (current) => {
      requireOwnerFor(parameters, current, caller);
      const known = readStoredPatterns(current.types);
      const placed = patterns && end && writePatterns(patterns, (pattern) => known[pattern] ?? end.position);
      return { ...columns, ...(placed !== undefined && { types: placed }) };
    });
    return present(changed, services);
  },
});

const removeWebhook = operation({
  ...ofWebhook,
  method: "DELETE",
  operation: "deleteWebhook",
  summary: "Delete a webhook with its deliveries",
  description: "Events that are under way are not waited for.",
  status: 200,
  result: Type.Literal(true),
  errors: ["ItemDoesNotExist"],
  async handle({ path }, { database, background }) {
    const key = keyOf(path);
    await requireApplication(path.appid, database.reads);
    const isThere = await database.write(({ queries }) => deleteWebhook(key, queries));
    if (!isThere) throw new ApiError("ItemDoesNotExist");
    // If it is aborted, maintenance deletes the rest.
    background.run(`deliveries of ${key.id}`, (signal) =>
      inSteps(database, signal, (queries) => deleteDeliveries(key, queries)),
    );
    return true as const;
  },
});

const rotateSecret = operation({
  ...ofWebhook,
  method: "POST",
  path: `${ofWebhook.path}/rotate-secret`,
  operation: "rotateWebhookSecret",
  summary: "Replace the secret of a webhook; the new one is shown only once",
  description: "For some hours events are signed with the old secret, too. A secret from before that ends at once.",
  parameters: RotateSecret,
  status: 200,
  result: RotatedSecret,
  errors: ["ItemDoesNotExist"],
  async handle({ path, parameters: { overlapHours = 24 } }, services) {
    const secret = newWebhookSecret();
    const now = services.clock.now();
    const ends = now + overlapHours * hourMs;
    const changed = await changeRow(keyOf(path), services, (current) => {
      const hasPrevious = current.secret !== null && overlapHours > 0;
      return {
        secret: services.webhookSealer.sealSecret(path.appid, path.webhookId, secret),
        secret_at: now,
        older_secret: hasPrevious ? current.secret : null,
        older_secret_at: hasPrevious ? current.secret_at : 0,
        older_secret_ends_at: hasPrevious ? ends : 0,
      };
    });
    return { secret, ...(changed.older_secret !== null && { previousEnds: formatDate(ends) }) };
  },
});

const pauseWebhook = operation({
  ...ofWebhook,
  method: "POST",
  path: `${ofWebhook.path}/pause`,
  operation: "pauseWebhook",
  summary: "Stop sending events to a webhook",
  description: "They wait as long as the log keeps them.",
  status: 200,
  result: WebhookResult,
  errors: ["ItemDoesNotExist"],
  async handle({ path }, services) {
    return present(await changeRow(keyOf(path), services, () => ({ ...healthyColumns, state: "paused" })), services);
  },
});

const resumeWebhook = operation({
  ...ofWebhook,
  method: "POST",
  path: `${ofWebhook.path}/resume`,
  operation: "resumeWebhook",
  summary: "Send events to a webhook again",
  description: "Also to one that is failing or disabled. Deliveries that wait for another attempt are due at once.",
  parameters: ResumeWebhook,
  status: 200,
  result: WebhookResult,
  errors: ["AuthAPICallDisabledByDeveloper", "ItemDoesNotExist"],
  async handle({ path, parameters: { from = "stopped" } }, services) {
    const { database, clock, webhookSealer, webhookRunner } = services;
    const { appid } = path;
    const key = keyOf(path);
    await requireWebhook(key, database.reads);
    const end = await findEnd(appid, services);
    const now = clock.now();
    const resumed = await changeRow(key, services, async (current, queries) => {
      if (webhookSealer.open(current, now) === undefined) {
        const message = "Set the headers and rotate the secret of the webhook first, which an import does not bring.";
        throw new ApiError("ParameterOutOfRange", message);
      }
      await makeDeliveriesDue(key, now, queries);
      const isMoved = from === "now" || current.log === ""; // an imported webhook has no position in this log
      const moved = isMoved && { ...cursorColumns(end, now), turn: current.turn + 1 };
      return { ...healthyColumns, state: "active", wake_at: now, ...moved };
    });
    database.afterCommit(() => webhookRunner.expect(appid));
    return present(resumed, services);
  },
});

function cursorColumns({ log, position, id }: Cursor, now: number) {
  return { log, position, event_id: id, position_at: now };
}

function requireUrl(url: string, { database, outgoing }: Services): Promise<void> {
  return database.outsideTransaction(`webhook at ${url}`, () => requireWebhookUrl(url, outgoing), { hasEffect: true });
}

/** Returns the end of the log, which records events from then on. */
function findEnd(appid: string, { database, eventLog }: Services): Promise<Cursor> {
  return database.outsideTransaction(`end of the log of ${appid}`, () => eventLog.findEnd(appid), { hasEffect: true });
}

/**
 * Changes columns of a webhook depending on its current state.
 *
 * @throws ApiError ItemDoesNotExist
 */
function changeRow(
  key: WebhookKey,
  services: Pick<Services, "database" | "clock">,
  columnsFor: (current: WebhookRow, queries: Queries) => WebhookColumns | Promise<WebhookColumns>,
): Promise<WebhookRow> {
  return writeWebhook(key, services, async (current, queries) => {
    const columns = { ...(await columnsFor(current, queries)), modified_at: services.clock.now() };
    await updateWebhook(key, columns, queries);
    return { ...current, ...columns };
  });
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

import { type Insertable, sql } from "kysely";
import type { Queries } from "../db/database.ts";
import { prepareLookup } from "../db/prepared.ts";
import { equals, tieOrder } from "../db/search/conditions.ts";
import { readPage } from "../db/search/page.ts";
import { scopeStream } from "../db/search/scope.ts";
import type { Tables, WebhookRow } from "../db/tables.ts";
import type { Page, Position } from "../lib/keyset.ts";

/** The columns of a webhook that a statement may change. */
export type WebhookColumns = Partial<Omit<WebhookRow, "application_id" | "id">>;

interface OfWebhook {
  readonly applicationId: string;
  readonly id: string;
}

export async function insertWebhook(row: Insertable<Tables["webhooks"]>, queries: Queries): Promise<void> {
  await queries.insertInto("webhooks").values(row).execute();
}

export async function countWebhooks(applicationId: string, queries: Queries): Promise<number> {
  const row = await queries
    .selectFrom("webhooks")
    .select((from) => from.fn.countAll().as("count"))
    .where("application_id", "=", applicationId)
    .executeTakeFirst();
  return Number(row?.count ?? 0);
}

/** Lists a page of an application's webhooks, oldest first. */
export function listWebhooks(
  applicationId: string,
  position: Position,
  size: number,
  queries: Queries,
): Promise<Page<WebhookRow>> {
  const conditions = [equals("application_id", applicationId)];
  const scope = { shape: "webhooks", from: sql`webhooks`, select: sql`*`, conditions };
  return readPage(scopeStream<WebhookRow>(scope, tieOrder("id"), false, queries), position, size);
}

export async function findWebhook(
  applicationId: string,
  id: string,
  queries: Queries,
): Promise<WebhookRow | undefined> {
  const [row] = await findById(queries, { applicationId, id });
  return row;
}

const findById = prepareLookup<OfWebhook, WebhookRow>((queries, parameter) =>
  queries
    .selectFrom("webhooks")
    .selectAll()
    .where("application_id", "=", parameter("applicationId"))
    .where("id", "=", parameter("id")),
);

export async function updateWebhook(
  applicationId: string,
  id: string,
  columns: WebhookColumns,
  queries: Queries,
): Promise<void> {
  await queries
    .updateTable("webhooks")
    .set(columns)
    .where("application_id", "=", applicationId)
    .where("id", "=", id)
    .execute();
}

const rowsPerStep = 1_000;

/** Deletes a webhook. {@link deleteDeliveries} deletes its deliveries in steps. */
export async function deleteWebhook(applicationId: string, id: string, queries: Queries): Promise<boolean> {
  const deleted = await queries
    .deleteFrom("webhooks")
    .where("application_id", "=", applicationId)
    .where("id", "=", id)
    .executeTakeFirst();
  return deleted.numDeletedRows === 1n;
}

/** Deletes some deliveries of a webhook. @returns whether rows may be left */
export async function deleteDeliveries(applicationId: string, id: string, queries: Queries): Promise<boolean> {
  const { numAffectedRows } = await sql`
    delete from webhook_deliveries
    where application_id = ${applicationId} and webhook_id = ${id} and id in (
      select id from webhook_deliveries where application_id = ${applicationId} and webhook_id = ${id} limit ${rowsPerStep}
    )`.execute(queries);
  return Number(numAffectedRows ?? 0) === rowsPerStep;
}

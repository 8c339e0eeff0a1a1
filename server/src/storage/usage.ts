import { sql } from "kysely";
import type { Queries } from "../db/database.ts";
import { ApiError } from "../lib/errors.ts";
import { loadApplicationSettings, type Quotas } from "../tenancy/application-settings.ts";

/** Stands for the application in the column of the user id. */
const applicationTotal = "";

/** The owners of quotas, with the names of the quotas in the settings. */
const owners = [
  { isUser: true, bytes: "bytesPerUser", files: "filesPerUser", noun: "user" },
  { isUser: false, bytes: "bytesPerApplication", files: "filesPerApplication", noun: "application" },
] as const;

/**
 * Counts new files against the quotas, in the transaction that inserts them. The counts are exact, because they change
 * only in the transactions that insert and delete files.
 *
 * @throws ApiError RequestTooLarge naming the exceeded quota
 */
export async function chargeUsage(
  applicationId: string,
  userId: string,
  bytes: number,
  queries: Queries,
): Promise<void> {
  const { quotas = {} } = await loadApplicationSettings(applicationId, queries);
  for (const { isUser, ...named } of owners) {
    const { rows } = await sql<Usage>`
      insert into file_usage (application_id, user_id, bytes, files)
      values (${applicationId}, ${isUser ? userId : applicationTotal}, ${bytes}, 1)
      on conflict (application_id, user_id) do update
        set bytes = file_usage.bytes + excluded.bytes, files = file_usage.files + excluded.files
      returning bytes, files`.execute(queries);
    const [usage = none] = rows;
    if (Number(usage.bytes) > bytesMax(quotas, named)) throw bytesExceeded(quotas, named);
    if (Number(usage.files) > filesMax(quotas, named)) throw filesExceeded(quotas, named);
  }
}

/** Undoes {@link chargeUsage}, in the transaction that deletes the files. */
export async function refundUsage(
  applicationId: string,
  userId: string,
  { bytes, files }: Usage,
  queries: Queries,
): Promise<void> {
  for (const owner of [userId, applicationTotal]) {
    await queries
      .updateTable("file_usage")
      .set((each) => ({ bytes: each("bytes", "-", bytes), files: each("files", "-", files) }))
      .where("application_id", "=", applicationId)
      .where("user_id", "=", owner)
      .execute();
  }
}

/** Returns how much an application, or one of its users, has stored. */
export async function findUsage(applicationId: string, queries: Queries, userId = applicationTotal): Promise<Usage> {
  const row = await queries
    .selectFrom("file_usage")
    .select(["bytes", "files"])
    .where("application_id", "=", applicationId)
    .where("user_id", "=", userId)
    .executeTakeFirst();
  return row === undefined ? none : { bytes: Number(row.bytes), files: Number(row.files) };
}

/** The remaining quota in bytes, so that an upload is cut at its quota instead of after it has been received. */
export interface FreeQuota {
  readonly bytes: number;
  /** The error for a larger upload. */
  exceeded(): ApiError;
}

/** @throws ApiError RequestTooLarge if no quota is left */
export async function freeQuotaOf(applicationId: string, userId: string, queries: Queries): Promise<FreeQuota> {
  const { quotas } = await loadApplicationSettings(applicationId, queries);
  let free: FreeQuota = { bytes: Number.POSITIVE_INFINITY, exceeded: () => new ApiError("RequestTooLarge") };
  if (quotas === undefined) return free;
  const rows = await queries
    .selectFrom("file_usage")
    .selectAll()
    .where("application_id", "=", applicationId)
    .where("user_id", "in", [userId, applicationTotal])
    .execute();
  for (const { isUser, ...named } of owners) {
    const used = rows.find(({ user_id }) => user_id === (isUser ? userId : applicationTotal)) ?? none;
    if (used.files >= filesMax(quotas, named)) throw filesExceeded(quotas, named);
    const bytes = bytesMax(quotas, named) - used.bytes;
    if (bytes < free.bytes) free = { bytes, exceeded: () => bytesExceeded(quotas, named) };
  }
  return free;
}

interface Usage {
  readonly bytes: number;
  readonly files: number;
}

const none: Usage = { bytes: 0, files: 0 };

type Named = Omit<(typeof owners)[number], "isUser">;

function bytesMax(quotas: Partial<Quotas>, { bytes }: Named): number {
  return quotas[bytes] ?? Number.POSITIVE_INFINITY;
}

function filesMax(quotas: Partial<Quotas>, { files }: Named): number {
  return quotas[files] ?? Number.POSITIVE_INFINITY;
}

function bytesExceeded(quotas: Partial<Quotas>, named: Named): ApiError {
  const message = `The files of this ${named.noun} would be larger than ${bytesMax(quotas, named)} bytes together (${named.bytes}).`;
  return new ApiError("RequestTooLarge", message);
}

function filesExceeded(quotas: Partial<Quotas>, named: Named): ApiError {
  const message = `The ${named.noun} would have more than ${filesMax(quotas, named)} files (${named.files}).`;
  return new ApiError("RequestTooLarge", message);
}

import { sql } from "kysely";
import type { Database, Queries } from "../db/database.ts";
import { deleteEnded } from "../db/steps.ts";

/**
 * At most `max` mails of one subject in any period of this length. The subject is a keyed digest: see {@link
 * import("./admission.ts")}.
 */
export interface MailLimit {
  readonly subject: string;
  readonly max: number;
  readonly periodMs: number;
}

/**
 * Takes one from each limit or, if a limit is exhausted, none. Exact across all processes, because each limit is a row
 * that stays locked for the rest of the transaction; callers that name several limits must name them in the same order
 * to avoid deadlocks.
 *
 * @returns the first exhausted limit
 */
export async function takeFromLimits<Limit extends MailLimit>(
  applicationId: string,
  limits: readonly Limit[],
  now: number,
  queries: Queries,
): Promise<Limit | undefined> {
  const counted: { limit: Limit; times: number[] }[] = [];
  for (const limit of limits) {
    const times = await lockTimes(applicationId, limit, now, queries);
    if (times.length >= limit.max) return limit;
    counted.push({ limit, times });
  }
  for (const { limit, times } of counted) {
    await queries
      .updateTable("mail_limits")
      .set({ times: JSON.stringify([...times, now]), expires_at: now + limit.periodMs })
      .where("application_id", "=", applicationId)
      .where("subject", "=", limit.subject)
      .execute();
  }
  return undefined;
}

/** Locks the row of a limit, creating it if necessary, and returns the times within the period. */
async function lockTimes(
  applicationId: string,
  { subject, periodMs }: MailLimit,
  now: number,
  queries: Queries,
): Promise<number[]> {
  const row = await queries
    .insertInto("mail_limits")
    .values({ application_id: applicationId, subject, times: "[]", expires_at: now + periodMs })
    .onConflict((conflict) =>
      conflict.columns(["application_id", "subject"]).doUpdateSet({ subject: sql.ref("excluded.subject") }),
    )
    .returning("times")
    .executeTakeFirstOrThrow();
  const times: number[] = JSON.parse(row.times); // as it was written below
  // Times further ahead than a period were written by a wrong clock.
  return times.filter((time) => time > now - periodMs && time < now + periodMs);
}

/** Deletes expired limits. */
export async function deleteExpiredMailLimits(now: number, database: Database, signal?: AbortSignal): Promise<void> {
  await deleteEnded("mail_limits", sql`"expires_at" < ${now}`, database, signal);
}

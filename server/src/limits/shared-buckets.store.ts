import { sql } from "kysely";
import type { Queries } from "../db/database.ts";
import { type Limit, tolerance } from "../lib/token-buckets.ts";

/** The subject of a shared counter. */
export interface CounterKey {
  /** Empty for counters of the deployment. */
  readonly applicationId: string;
  /** In the database, a keyed digest: names of users and addresses of clients are not stored. */
  readonly name: string;
}

/** The report of a process about a bucket, with the tokens that it requests. */
export interface Loan {
  readonly limit: Limit;
  readonly now: number;
  /** Tokens that the process has handed out since the last loan; negative for borrowed ones that it returns. */
  readonly used: number;
  readonly wanted: number;
}

/** The state of a bucket after a loan. */
export interface Lent {
  /** 0 when the bucket is empty; more than wanted while much is left. */
  readonly lent: number;
  /** Tokens that are missing, including the lent ones. */
  readonly missing: number;
  /** The time for which `missing` holds. */
  readonly at: number;
}

/** A time this far ahead was written by a process with a wrong clock. */
const skewMsMax = 60_000;
/**
 * The part of the available tokens that a process may borrow at once: the tokens that others miss while it holds them,
 * and those that it may hand out too late, stay within a few percent.
 */
export const loanShare = 1 / 64;

/**
 * Lends the requested tokens, or more to save further loans: at most a share, and at most what the bucket gains within
 * a second.
 */
export function lend(bucket: Pick<Lent, "missing" | "at">, { limit, now, used, wanted }: Loan): Lent {
  const at = bucket.at > now + skewMsMax ? now : bucket.at;
  const returned = (Math.max(0, now - at) * limit.perSecond) / 1_000;
  const missing = Math.max(0, Math.max(0, bucket.missing - returned) + used);
  const left = Math.max(0, limit.burst - missing + tolerance);
  const spare = Math.floor(Math.min(left * loanShare, limit.perSecond));
  const lent = left >= wanted ? Math.max(wanted, spare) : Math.floor(left);
  return { lent, missing: missing + lent, at: Math.max(at, now) };
}

/** Reports used tokens and borrows others. The row stays locked until the transaction ends. */
export async function lendTokens(applicationId: string, key: string, loan: Loan, queries: Queries): Promise<Lent> {
  const table = applicationId === "" ? "deployment_limit_buckets" : "limit_buckets";
  const bucket = await queries
    .insertInto(table)
    .values({ application_id: applicationId, key, missing: 0, at: loan.now, ends_at: loan.now })
    .onConflict((conflict) => conflict.columns(["application_id", "key"]).doUpdateSet({ key: sql.ref("excluded.key") }))
    .returning(["missing", "at"])
    .executeTakeFirstOrThrow();
  const lent = lend(bucket, loan);
  await queries
    .updateTable(table)
    .set({
      missing: lent.missing,
      at: lent.at,
      ends_at: lent.at + Math.ceil((lent.missing * 1_000) / loan.limit.perSecond),
    })
    .where("application_id", "=", applicationId)
    .where("key", "=", key)
    .execute();
  return lent;
}

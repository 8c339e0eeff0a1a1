import { sql } from "kysely";
import type { Limit } from "../contract/policy.ts";
import type { Queries } from "../db/database.ts";
import { tolerance } from "./token-buckets.ts";

/** The subject of a shared counter. */
export interface CounterKey {
  /** Empty for counters of the deployment. */
  readonly applicationId: string;
  /** Stored as a keyed digest, so that the database contains no user names and addresses of clients. */
  readonly name: string;
}

/** The report of a process about a bucket, and its request for tokens. */
export interface Loan {
  readonly limit: Limit;
  readonly now: number;
  /** The tokens that the process has handed out since the last loan; negative to return borrowed tokens. */
  readonly used: number;
  readonly wanted: number;
}

/** The state of a bucket after a loan. */
export interface Lent {
  /** The number of lent tokens: 0 if the bucket is empty; more than `wanted` while many are left. */
  readonly lent: number;
  /** The missing tokens, including the lent ones. */
  readonly missing: number;
  /** The time for which `missing` holds. */
  readonly at: number;
}

/** A time further ahead was written by a process with a wrong clock. */
const skewMsMax = 60_000;
/**
 * The fraction of the available tokens that one loan may have. It bounds the tokens that other processes lack, or that
 * are handed out late, to a few percent.
 */
export const loanShare = 1 / 64;

/**
 * Lends the requested tokens, or more to save further loans: at most `loanShare`, and at most the refill of a second.
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

/** Reports used tokens and borrows others. The row is locked until the end of the transaction. */
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

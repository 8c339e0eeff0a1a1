import type { Database, Queries } from "./database.ts";
import { isMissingTable } from "./dialect.ts";

/**
 * Facts on which all processes of a deployment agree:
 * - `secret`: the fingerprint of the secret that seals and signs
 * - `region`: the name of its region
 * - `maintenance`: when the last round of maintenance was finished, by the clock of its process
 * - `backup`: the last backup, as JSON
 */
export type FactName = "secret" | "region" | "maintenance" | "backup";

/** @returns undefined if no process has recorded it, also in a database without the table, outside of a transaction */
export async function findFact(name: FactName, queries: Queries): Promise<string | undefined> {
  try {
    const found = queries.selectFrom("deployment_facts").select("value").where("name", "=", name);
    return (await found.executeTakeFirst())?.value;
  } catch (error) {
    if (isMissingTable(error)) return undefined;
    throw error;
  }
}

/** Records a fact, or replaces its value. */
export async function putFact(name: FactName, value: string, queries: Queries): Promise<void> {
  await queries
    .insertInto("deployment_facts")
    .values({ name, value })
    .onConflict((conflict) => conflict.column("name").doUpdateSet({ value }))
    .execute();
}

/** The fingerprint of the secret that the deployment seals with. */
export function findRecordedSecret({ reads }: Pick<Database, "reads">): Promise<string | undefined> {
  return findFact("secret", reads);
}

/** The newest backup that `rollcall backup` has written. */
export interface Backup {
  /** When it was finished. */
  readonly at: number;
  readonly bytes: number;
  readonly isWithoutFiles: boolean;
}

export async function findBackup(queries: Queries): Promise<Backup | undefined> {
  const value = await findFact("backup", queries);
  return value === undefined ? undefined : (JSON.parse(value) as Backup); // only putBackup writes it
}

export function putBackup(backup: Backup, queries: Queries): Promise<void> {
  return putFact("backup", JSON.stringify(backup), queries);
}

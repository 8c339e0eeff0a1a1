import { baseline } from "./0001-baseline/baseline.ts";
import { usersByName } from "./0061-users-by-name.ts";
import { deploymentFacts } from "./0062-deployment-facts.ts";
import { checkinsOccurred } from "./0063-checkins-occurred.ts";
import { verifiedAddresses } from "./0064-verified-addresses.ts";
import { languages } from "./0065-languages.ts";
import { heldVerifiedAddresses } from "./0066-held-verified-addresses.ts";
import type { Migration } from "./migration.ts";

/**
 * All migrations in order. Append only: a released migration is never changed. The numbers continue at 0060, after the
 * migrations that the baseline replaced.
 */
export const migrations: readonly Migration[] = [
  baseline,
  usersByName,
  deploymentFacts,
  checkinsOccurred,
  verifiedAddresses,
  languages,
  heldVerifiedAddresses,
];

/**
 * The last of the migrations that the baseline replaced. A database that recorded it has the schema of the baseline.
 * Its record stays, so that processes of the previous version can serve beside this one.
 */
const lastReplaced = "0059-operated-people";

/** Returns recorded names with the baseline in place of the migrations that it replaced. */
export function withBaseline(recorded: readonly string[]): string[] {
  if (!recorded.includes(lastReplaced)) return [...recorded];
  return [baseline.name, ...recorded.filter((name) => name > lastReplaced)];
}

/** Returns the last recorded migration of a schema that is older than the baseline; undefined for any other schema. */
export function findOlderThanBaseline(recorded: readonly string[]): string | undefined {
  if (withBaseline(recorded).includes(baseline.name)) return undefined;
  return recorded
    .filter((name) => name < lastReplaced)
    .sort()
    .at(-1);
}

/** The last commit that can migrate every older database to the schema of the baseline. */
export const commitBeforeBaseline = "2202da8f";

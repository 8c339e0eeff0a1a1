import { killOnPostgres, killOnSqlite } from "./kills.ts";
import { databaseOutages } from "./outages.ts";
import type { Scenario } from "./scenario.ts";

/** Everything that is tried, in order. */
export const scenarios: readonly Scenario[] = [killOnSqlite, killOnPostgres, ...databaseOutages];

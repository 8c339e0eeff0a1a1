import { deploymentTables, tableCatalogue, tablesInErasureOrder } from "../db/table-catalogue.ts";
import type { Tables } from "../db/tables.ts";

/**
 * The order in which tables are archived and loaded. A row comes after the rows that it refers to, and an unfinished erasure
 * after the rows that it erases, because a server that runs during an import continues the erasure immediately.
 */
const loadOrder: readonly (keyof Tables)[] = [
  "applications",
  ...tablesInErasureOrder.toReversed().filter((table) => table !== "unfinished_erasures"),
  "unfinished_erasures",
  ...deploymentTables.toReversed(),
];

/** The tables of a backup. */
export const archivedTables = loadOrder.filter((table) => tableCatalogue[table].archive !== "never");

/** The tables of an archive of one application. */
export const exportedTables = loadOrder.filter((table) => tableCatalogue[table].archive === "everywhere");

import { deploymentTables, type Tables, tablesInErasureOrder } from "../db/tables.ts";

/**
 * All tables in the order in which they are archived and loaded: a row comes after those that it refers to, and what is to
 * be erased after what it is erased from, since a server that runs beside an import takes it up at once.
 */
export const archivedTables: readonly (keyof Tables)[] = [
  "applications",
  ...tablesInErasureOrder.toReversed().filter((table) => table !== "unfinished_erasures"),
  "unfinished_erasures",
  ...deploymentTables.toReversed(),
];

/**
 * What of an application is not exported: replies that are sealed under the secret of this deployment, and uploads that are
 * not finished, with their bytes. Clients send again what they did not finish.
 */
const leftBehind: readonly (keyof Tables)[] = ["kept_replies", "resumable_uploads", "upload_segments", "loose_bytes"];

/** The tables of an exported application, in the same order. */
export const exportedTables: readonly (keyof Tables)[] = archivedTables.filter(
  (table) => ![...leftBehind, ...deploymentTables].includes(table),
);

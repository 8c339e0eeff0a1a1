import { sql } from "kysely";
import type { Migration } from "./migration.ts";

/** The size of the metrics of a key; null until measured, as for keys of the previous version. */
export const metricBytes: Migration = {
  name: "0032-metric-bytes",
  statements: ({ integer }) => [sql`alter table metric_keys add column stored_bytes ${integer}`],
};

import { sql } from "kysely";
import type { Migration } from "./migration.ts";

/** An application that is being imported is marked as deleted, so that it is invisible, and must not be erased yet. */
export const imports: Migration = {
  name: "0017-imports",
  statements: ({ integer }) => [sql`alter table applications add column importing_until ${integer}`],
};

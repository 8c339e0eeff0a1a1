import { sql } from "kysely";
import type { Migration } from "./migration.ts";

/** An application that is being imported: marked as deleted, so that nobody sees it, and not to be erased yet. */
export const imports: Migration = {
  name: "0016-imports",
  statements: ({ integer }) => [sql`alter table applications add column importing_until ${integer}`],
};

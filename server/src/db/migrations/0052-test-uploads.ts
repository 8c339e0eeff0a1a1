import { sql } from "kysely";
import type { Migration } from "./migration.ts";

/** Whether an unfinished upload was begun with the token of a test user, whose files do not count in statistics. */
export const testUploads: Migration = {
  name: "0052-test-uploads",
  statements: ({ integer }) => [sql`alter table resumable_uploads add column is_test ${integer} not null default 0`],
};

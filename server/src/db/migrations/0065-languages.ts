import { sql } from "kysely";
import type { Migration } from "./migration.ts";

/** The language of a user's mails. */
export const languages: Migration = {
  name: "0065-languages",
  statements: ({ addColumn, text }) => [sql`alter table users ${addColumn} language ${text}`],
};

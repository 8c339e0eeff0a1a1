import { sql } from "kysely";
import type { Migration } from "./migration.ts";

/**
 * Indexes all users of an application by their names, for operators: `users_shown` has only the users that other users
 * find. Written as `db/users-by-name.ts` writes the keys.
 */
export const usersByName: Migration = {
  name: "0061-users-by-name",
  statements: () =>
    (["first_name", "last_name"] as const).map((lead) => {
      const other = lead === "first_name" ? "last_name" : "first_name";
      return sql.raw(`
        create index if not exists users_all_by_${lead} on users
          (application_id, lower(substr(${lead}, 1, 128)), lower(substr(${other}, 1, 128)), id)
        where ${lead} is not null and deleted_at is null`);
    }),
};

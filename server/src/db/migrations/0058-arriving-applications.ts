import { sql } from "kysely";
import type { Migration } from "./migration.ts";

/** The few applications that are being imported or moved, which the list of operators finds by their state. */
export const arrivingApplications: Migration = {
  name: "0058-arriving-applications",
  statements: () => [
    sql`
      create index if not exists applications_arriving on applications (created_at, application_id)
      where importing_until is not null or moving_to is not null`,
  ],
};

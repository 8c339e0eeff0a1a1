import { sql } from "kysely";
import { equals, numberOrder } from "../db/conditions.ts";
import type { Database } from "../db/database.ts";
import { scopeStream } from "../db/scope.ts";
import { eachRow } from "../db/stream.ts";
import type { CheckinRow } from "../db/tables.ts";
import type { UserExporter } from "../exports/user-export.ts";
import { presentCheckin } from "./checkins.contract.ts";

const rowsAtOnce = 500;

/** The check-ins of a user in the form that the user reads, for the user's export. */
export function checkinsExporter({ database }: { readonly database: Database }): UserExporter {
  return async function* ({ applicationId, userId }) {
    const conditions = [equals("application_id", applicationId), equals("user_id", userId)];
    const scope = { shape: "checkins exported", from: sql`checkins`, select: sql`checkins.*`, conditions };
    const stream = scopeStream<CheckinRow>(scope, numberOrder("created_at"), false, database.reads);
    async function* rows() {
      for await (const checkin of eachRow(stream, rowsAtOnce)) {
        yield presentCheckin(checkin, userId);
      }
    }
    yield { name: "checkins.ndjson", rows: rows() };
  };
}

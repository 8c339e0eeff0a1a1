import { type RawBuilder, sql } from "kysely";

/** The condition that leaves out those of an application's devices or users whom operators made to try calls. */
export function withoutTestCallers(table: "devices" | "users", applicationId: string): RawBuilder<unknown> {
  const column = sql.ref(table === "devices" ? "device_id" : "user_id");
  // Few rows, which both engines read once.
  return sql`and id not in (
    select ${column} from test_callers where application_id = ${applicationId} and ${column} is not null
  )`;
}

import type { Queries } from "../db/database.ts";
import { prepare } from "../db/prepared.ts";

/** Whether an application has a user who is not being deleted. */
export async function isUser(applicationId: string, userId: string, queries: Queries): Promise<boolean> {
  return (await findLive(queries, { applicationId, userId })).length > 0;
}

const findLive = prepare<{ applicationId: string; userId: string }, { id: string }>((queries, parameter) =>
  queries
    .selectFrom("users")
    .select("id")
    .where("application_id", "=", parameter("applicationId"))
    .where("id", "=", parameter("userId"))
    .where("deleted_at", "is", null),
);

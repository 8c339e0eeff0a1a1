import { requireApplication } from "../auth/operated-application.ts";
import type { Queries } from "../db/database.ts";
import type { UserRow } from "../db/tables.ts";
import { ApiError } from "../lib/errors.ts";
import type { CommandServices } from "../operations/services.ts";
import { presentOperatedUser } from "./users.operator.contract.ts";
import { countOfUser } from "./users.operator.store.ts";
import { findUser } from "./users.store.ts";

/** @throws ApiError ItemDoesNotExist, ServiceUnavailable */
export async function requireOperatedUser(applicationId: string, userId: string, queries: Queries): Promise<UserRow> {
  await requireApplication(applicationId, queries);
  const user = await findUser(applicationId, userId, queries);
  if (user === undefined) throw new ApiError("ItemDoesNotExist");
  return user;
}

/** A user with the number of objects of each kind. */
export async function presentWithCounts(user: UserRow, { database }: Pick<CommandServices, "database">) {
  const counts = await countOfUser(user.application_id, user.id, database.reads);
  return { ...presentOperatedUser(user), counts };
}

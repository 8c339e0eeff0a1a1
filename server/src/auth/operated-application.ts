import type { Queries } from "../db/database.ts";
import type { Dialect } from "../db/dialect.ts";
import { lockApplication } from "../db/lock.ts";
import { prepare } from "../db/prepared.ts";
import { ApiError } from "../errors.ts";
import { movingError } from "../http/policy.ts";
import { IdInput } from "../http/wire.ts";

/** The path parameter by which an operator says which application is meant; spread it into the others of the path. */
export const applicationPathParameters = { appid: IdInput("App") };

/**
 * To be called first by every operator's operation on one application. One that is being deleted is gone; of one that moves
 * to another region nothing can be read or changed meanwhile.
 *
 * @throws ApiError ItemDoesNotExist, ServiceUnavailable
 */
export async function requireApplication(applicationId: string, queries: Queries): Promise<void> {
  const [found] = await findLive(queries, { applicationId });
  if (found === undefined) throw new ApiError("ItemDoesNotExist");
  if (found.moving_to !== null) throw movingError();
}

/**
 * The same at the beginning of what changes something of it: a move begins before, and is seen here, or after the transaction,
 * and takes along what it has written.
 *
 * @throws ApiError ItemDoesNotExist, ServiceUnavailable
 */
export async function holdApplication(applicationId: string, dialect: Dialect, queries: Queries): Promise<void> {
  await lockApplication(dialect, applicationId, queries);
  await requireApplication(applicationId, queries);
}

const findLive = prepare<{ applicationId: string }, { moving_to: string | null }>((queries, parameter) =>
  queries
    .selectFrom("applications")
    .select("moving_to")
    .where("application_id", "=", parameter("applicationId"))
    .where("deleted_at", "is", null),
);

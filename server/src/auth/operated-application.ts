import { movingError } from "../contract/policy.ts";
import { IdInput } from "../contract/wire.ts";
import type { Queries } from "../db/database.ts";
import type { Dialect } from "../db/dialect.ts";
import { lockApplication } from "../db/lock.ts";
import { prepare } from "../db/prepared.ts";
import { ApiError } from "../lib/errors.ts";

/** The path parameter that names the application of an operator's request; spread it into the other path parameters. */
export const applicationPathParameters = { appid: IdInput("App") };

/**
 * Must run first in every operator operation on an application. An application that is being deleted counts as gone;
 * one that is moving to another region can be neither read nor changed.
 *
 * @throws ApiError ItemDoesNotExist, ServiceUnavailable
 */
export async function requireApplication(applicationId: string, queries: Queries): Promise<void> {
  const [found] = await findLive(queries, { applicationId });
  if (found === undefined) throw new ApiError("ItemDoesNotExist");
  if (found.moving_to !== null) throw movingError();
}

/**
 * Like `requireApplication`, at the beginning of a transaction that changes something of the application: a move starts
 * either before the transaction, and is detected here, or after it, and includes its changes.
 *
 * @throws ApiError ItemDoesNotExist, ServiceUnavailable
 */
export async function holdApplication(applicationId: string, dialect: Dialect, queries: Queries): Promise<void> {
  await lockApplication(dialect, applicationId, queries);
  await requireApplication(applicationId, queries);
}

/** Whether clients can use the application in this region. */
export async function isServed(applicationId: string, queries: Queries): Promise<boolean> {
  const [found] = await findLive(queries, { applicationId });
  return found?.moving_to === null;
}

const findLive = prepare<{ applicationId: string }, { moving_to: string | null }>((queries, parameter) =>
  queries
    .selectFrom("applications")
    .select("moving_to")
    .where("application_id", "=", parameter("applicationId"))
    .where("deleted_at", "is", null),
);

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
 * Must run first in every operator operation on an application. An application that is being deleted counts as deleted;
 * one that is moving to another region can be neither read nor changed.
 *
 * @throws ApiError ItemDoesNotExist, ServiceUnavailable
 */
export async function requireApplication(applicationId: string, queries: Queries): Promise<void> {
  const [found] = await findLiveApplication(queries, { applicationId });
  if (found === undefined) throw new ApiError("ItemDoesNotExist");
  if (found.moving_to !== null) throw movingError();
}

/**
 * Like `requireApplication`, at the start of a transaction that changes the application: a move that started earlier is
 * detected here, and one that starts later includes the changes.
 *
 * @throws ApiError ItemDoesNotExist, ServiceUnavailable
 */
export async function holdApplication(applicationId: string, dialect: Dialect, queries: Queries): Promise<void> {
  await lockApplication(dialect, applicationId, queries);
  await requireApplication(applicationId, queries);
}

/** Whether clients can use the application in this region. */
export async function isServed(applicationId: string, queries: Queries): Promise<boolean> {
  const [found] = await findLiveApplication(queries, { applicationId });
  return found?.moving_to === null;
}

const findLiveApplication = prepare<{ applicationId: string }, { moving_to: string | null }>((queries, parameter) =>
  queries
    .selectFrom("applications")
    .select("moving_to")
    .where("application_id", "=", parameter("applicationId"))
    .where("deleted_at", "is", null),
);

/** Whether an application has a user who is not being deleted. */
export async function isUser(applicationId: string, userId: string, queries: Queries): Promise<boolean> {
  return (await findLiveUser(queries, { applicationId, userId })).length > 0;
}

const findLiveUser = prepare<{ applicationId: string; userId: string }, { id: string }>((queries, parameter) =>
  queries
    .selectFrom("users")
    .select("id")
    .where("application_id", "=", parameter("applicationId"))
    .where("id", "=", parameter("userId"))
    .where("deleted_at", "is", null),
);

import { ApiError } from "../lib/errors.ts";
import { type Config, ConfigError } from "./config.ts";
import { explainSetting } from "./start-failures.ts";

/** A failure whose message is complete for a person: the cause and what to do. Printed without a stack. */
export class PlainFailure extends Error {
  override name = "PlainFailure";
}

/**
 * The message of a failure that explains itself, else the whole error with its stack.
 *
 * @param config the settings, if they have been read: the message then names the setting at fault
 */
export function explainFailure(error: unknown, config?: Config): unknown {
  if (error instanceof ConfigError || error instanceof PlainFailure) return error.message;
  const explained = config && explainSetting(rootOf(error), config);
  if (explained !== undefined) return explained;
  if (error instanceof ApiError)
    return error.cause instanceof Error ? `${error.message} (${reason(error.cause)})` : error.message;
  const isOfTheSystem = error instanceof Error && "syscall" in error; // a port in use, a folder without write permission
  return isOfTheSystem ? error.message : error;
}

/** The cause of an ApiError; for a connection that failed on several addresses, the first failure. */
function rootOf(error: unknown): unknown {
  if (error instanceof ApiError && error.cause !== undefined) return rootOf(error.cause);
  return error instanceof AggregateError && error.errors.length > 0 ? rootOf(error.errors[0]) : error;
}

/** A connection that fails on several addresses has no message of its own. */
function reason(cause: Error & { code?: unknown }): string {
  return cause.message === "" ? String(cause.code ?? cause.name) : cause.message;
}

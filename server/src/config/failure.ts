import { ApiError } from "../lib/errors.ts";
import { type Config, ConfigError } from "./config.ts";
import { explainSetting } from "./start-failures.ts";

/** A failure whose message explains the cause and the remedy to a person, so that it is printed without a stack. */
export class PlainFailure extends Error {
  override name = "PlainFailure";
}

/**
 * Returns the message of a failure that explains itself, or else the error, which is printed with its stack.
 *
 * @param config the settings, if they have been read: then the message names the setting that causes the failure
 */
export function explainFailure(error: unknown, config?: Config): unknown {
  if (error instanceof ConfigError || error instanceof PlainFailure) return error.message;
  const explained = config && explainSetting(rootOf(error), config);
  if (explained !== undefined) return explained;
  if (error instanceof ApiError)
    return error.cause instanceof Error ? `${error.message} (${reason(error.cause)})` : error.message;
  const isOfTheSystem = error instanceof Error && "syscall" in error; // such as a missing permission
  return isOfTheSystem ? error.message : error;
}

/** Returns the cause of an ApiError, and the first failure of a connection that failed on several addresses. */
function rootOf(error: unknown): unknown {
  if (error instanceof ApiError && error.cause !== undefined) return rootOf(error.cause);
  return error instanceof AggregateError && error.errors.length > 0 ? rootOf(error.errors[0]) : error;
}

/** The error of a connection that failed on several addresses has no message. */
function reason(cause: Error & { code?: unknown }): string {
  return cause.message === "" ? String(cause.code ?? cause.name) : cause.message;
}

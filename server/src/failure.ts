import { ConfigError } from "./config.ts";
import { ApiError } from "./errors.ts";

/** A failure whose message tells a person all there is to know, and what to do. */
export class PlainFailure extends Error {
  override name = "PlainFailure";
}

/** What to tell the person at the terminal: the reason alone where that is all there is to know, else the whole error. */
export function explainFailure(error: unknown): unknown {
  if (error instanceof ConfigError || error instanceof PlainFailure) return error.message;
  if (error instanceof ApiError)
    return error.cause instanceof Error ? `${error.message} (${reason(error.cause)})` : error.message;
  const isOfTheSystem = error instanceof Error && "syscall" in error; // a port in use, a folder that may not be written
  return isOfTheSystem ? error.message : error;
}

/** A connection that fails on several addresses has no message of its own. */
function reason(cause: Error & { code?: unknown }): string {
  return cause.message === "" ? String(cause.code ?? cause.name) : cause.message;
}

import { requireFunction, requireMs, requireOption } from "../wire/checks.ts";
import type { CallOptions, Retry } from "./options.ts";
import { repeatsMax } from "./repeats.ts";

/** Call options that are absent or of the right type. @throws ConfigurationError that names the option */
export function checkCallOptions<Options extends CallOptions>(given: Options | undefined): Options {
  const options: Options = Object(given);
  const { signal, timeoutMs, retry, onProgress } = options;
  if (signal) requireOption("signal", typeof signal.addEventListener === "function", "an AbortSignal");
  if (timeoutMs !== undefined) requireMs("timeoutMs", timeoutMs);
  if (onProgress) requireFunction("onProgress", onProgress);
  requireRetry("retry", retry);
  return options;
}

export function requireRetry(option: string, retry: Retry | undefined): void {
  const { repeats = 0 } = retry || {};
  const isCount = Number.isInteger(repeats) && repeats >= 0 && repeats <= repeatsMax;
  requireOption(`${option}.repeats`, isCount, `an integer from 0 to ${repeatsMax}`);
}

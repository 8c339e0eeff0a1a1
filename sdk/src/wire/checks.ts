import { ConfigurationError } from "./errors.ts";

/** @throws ConfigurationError that names the option and its rule, and not its value, which may be secret */
export function requireOption(option: string, isRight: boolean, rule: string): void {
  if (!isRight) throw new ConfigurationError(`${option} must be ${rule}.`);
}

export function requireMs(option: string, ms: unknown): void {
  requireOption(option, typeof ms === "number" && ms > 0, "a number of milliseconds above 0");
}

export function requireFunction(option: string, value: unknown): void {
  requireOption(option, typeof value === "function", "a function");
}

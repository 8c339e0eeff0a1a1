import { Failure } from "./failure.ts";
import type { World } from "./world.ts";

/** Checks one guarantee of the specification; throws a Failure when it does not hold. */
export type Check = (world: World) => Promise<void>;

/** Related checks by their titles. */
export interface Group {
  readonly name: string;
  readonly checks: Readonly<Record<string, Check>>;
}

/** A check that cannot run against this deployment, with the reason. */
export class Skip extends Error {}

export interface CheckResult {
  readonly group: string;
  readonly promise: string;
  readonly outcome: "passed" | "failed" | "skipped";
  readonly ms: number;
  /** Set for failed checks; skipped checks only have `reason`. */
  readonly request?: string;
  readonly expected?: string;
  readonly received?: string;
  readonly reason?: string;
}

/** Registers a check under its title: the rule of the specification, then the guarantee. */
export type It = (title: string, check: Check) => void;

/** A group with the checks that `register` defines, like `describe` of a test runner. */
export function group(name: string, register: (it: It) => void): Group {
  const checks: Record<string, Check> = {};
  register((title, check) => {
    if (title in checks) throw new Error(`Two checks are called: ${title}`);
    checks[title] = check;
  });
  return { name, checks };
}

/** Runs one check. Never throws. */
export async function runCheck(group: string, promise: string, check: Check, world: World): Promise<CheckResult> {
  const startedAt = performance.now();
  const result = { group, promise };
  try {
    await check(world);
    return { ...result, outcome: "passed", ms: elapsed(startedAt) };
  } catch (error) {
    const ms = elapsed(startedAt);
    if (error instanceof Skip) return { ...result, outcome: "skipped", ms, reason: error.message };
    if (error instanceof Failure) {
      const { request, expected, received } = error;
      return { ...result, outcome: "failed", ms, request, expected, received };
    }
    const [received = "", ...request] = error instanceof Error ? error.message.split("\n") : [String(error)];
    return { ...result, outcome: "failed", ms, request: request.join("\n"), expected: "an answer", received };
  }
}

function elapsed(startedAt: number): number {
  return Math.round(performance.now() - startedAt);
}

import { Failure } from "./failure.ts";
import type { World } from "./world.ts";

/** Checks one guarantee of the specification; throws a Failure when it does not hold. */
export type Check = (world: World) => Promise<void>;

/** Related checks. Each key is the title: the rule of the specification, then the guarantee. */
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

/** One check per row of a table. */
export function each<Row>(
  rows: readonly Row[],
  promise: (row: Row) => string,
  check: (world: World, row: Row) => Promise<void>,
): Record<string, Check> {
  const checks: Record<string, Check> = {};
  for (const row of rows) {
    const name = promise(row);
    if (name in checks) throw new Error(`Two checks are called: ${name}`);
    checks[name] = (world) => check(world, row);
  }
  return checks;
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

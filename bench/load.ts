import { startWorker, type Worker } from "../testkit/worker.ts";
import { type LoadPlan, type LoadResult, numbersOfMark } from "./load-plan.ts";
import { hasWrk, runWrk } from "./load-wrk.ts";

export type LoadTool = "wrk" | "own";

let own: Worker<LoadPlan, LoadResult> | undefined;

/** `wrk` if it is installed, otherwise the generator of this folder. */
export function preferredTool(): LoadTool {
  return hasWrk() ? "wrk" : "own";
}

/**
 * Puts load on a server from another process.
 *
 * @param tool `own` to check every status, to wait for slow responses, or to send at a given rate
 * @throws when any request failed
 */
export async function runLoad(plan: LoadPlan, tool: LoadTool = preferredTool()): Promise<LoadResult> {
  own ??= startGenerator();
  return check(plan, await (tool === "wrk" ? runWrk(plan) : own.ask(plan)));
}

let loads = 0;
/** The distance between the numbers of two loads. */
const numbersPerLoad = 10_000_000;

/** Like `runLoad`, with other numbers in each load, so that unique values stay unique. */
export function runFreshLoad(plan: LoadPlan, tool?: LoadTool): Promise<LoadResult> {
  loads += 1;
  return runLoad({ ...plan, firstNumber: (loads * numbersPerLoad) % (plan.numbersMax ?? numbersOfMark) }, tool);
}

/** Starts a generator of this folder beside the one that `runLoad` uses, for load in the background. */
export function startGenerator(): Worker<LoadPlan, LoadResult> {
  return startWorker(import.meta.resolve("./load-generator.ts"), {});
}

/** @throws when any request failed */
export function check({ request }: LoadPlan, result: LoadResult): LoadResult {
  const { requests, failures, firstFailure } = result;
  if (failures > 0) {
    const reason = firstFailure === undefined ? "" : `, the first: ${firstFailure}`;
    throw new Error(`${request.method} ${request.path}: ${failures} of ${requests} requests failed${reason}`);
  }
  if (requests === 0) throw new Error(`${request.method} ${request.path}: no response at all`);
  return result;
}

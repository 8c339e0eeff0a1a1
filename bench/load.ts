import { startWorker, type Worker } from "../testkit/worker.ts";
import type { LoadPlan, LoadResult } from "./load-plan.ts";
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

import type { Log } from "../config/log.ts";
import type { SlowStatement } from "../db/statement-watch.ts";
import { currentCall } from "../lib/current-call.ts";

/** When everything is slow, this many lines are as informative as all lines. */
const linesPerSecondMax = 20;

/** Logs each slow statement with its request, and the number of lines dropped before it. */
export function createSlowQueryLog(log: Log): (statement: SlowStatement) => void {
  let since = 0;
  let lines = 0;
  let leftOut = 0;
  return ({ statement, ms, rows, engine, failure }) => {
    const now = performance.now();
    if (now - since >= 1_000) {
      since = now;
      lines = 0;
    }
    lines += 1;
    if (lines > linesPerSecondMax) {
      leftOut += 1;
      return;
    }
    const { requestId, operation, work } = currentCall() ?? {};
    log.warn(
      {
        request_id: requestId,
        operation,
        work,
        ms: Math.round(ms * 1_000) / 1_000,
        rows,
        engine,
        statement,
        ...(failure !== undefined && { failed: true }),
        ...(leftOut > 0 && { left_out: leftOut }),
      },
      "slow query",
    );
    leftOut = 0;
  };
}

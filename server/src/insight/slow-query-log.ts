import type { SlowStatement } from "../db/statement-watch.ts";
import { currentCall } from "../lib/current-call.ts";
import type { Log } from "../log.ts";

/** When everything is slow, so many lines tell it as well as all would. */
const linesPerSecondMax = 20;

/** Writes a line of each slow statement, with what it was for; it says how many before it were left out. */
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

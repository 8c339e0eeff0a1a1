import { type DestinationStream, type Logger, pino } from "pino";
import { workerNumber } from "./workers/worker.ts";

export type Log = Logger;

/** Lines are gathered for at most this long: a write each would cost more than the requests they tell of. */
const gatherMs = 100;
/** What several processes write to one pipe stays whole up to PIPE_BUF; a process that serves alone gathers more. */
const gathered = workerNumber === undefined ? { minLength: 8_192 } : { minLength: 2_048, maxWrite: 4_096 };

/** The structured log: JSON lines on standard output, or readable lines when that is a terminal. */
export function createLog(level: string, destination: DestinationStream = defaultDestination()): Log {
  return pino({ level, base: workerNumber === undefined ? null : { worker: workerNumber } }, destination);
}

function defaultDestination(): DestinationStream {
  if (process.stdout.isTTY) return pino.transport({ target: "pino-pretty", options: { ignore: "pid,hostname" } });
  return pino.destination({ dest: 1, sync: false, periodicFlush: gatherMs, ...gathered });
}

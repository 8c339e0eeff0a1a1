import { type DestinationStream, type Logger, pino } from "pino";

export type Log = Logger;

/** Lines are gathered for at most this long: a write each would cost more than the requests they tell of. */
const gatherMs = 100;

/** The structured log: JSON lines on standard output, or readable lines when that is a terminal. */
export function createLog(level: string, destination: DestinationStream = defaultDestination()): Log {
  return pino({ level, base: null }, destination);
}

function defaultDestination(): DestinationStream {
  if (process.stdout.isTTY) return pino.transport({ target: "pino-pretty", options: { ignore: "pid,hostname" } });
  return pino.destination({ dest: 1, sync: false, minLength: 8_192, periodicFlush: gatherMs });
}

import { type DestinationStream, type Logger, pino } from "pino";
import { createLineWriter } from "./lib/line-writer.ts";
import { workerNumber } from "./workers/worker.ts";

export type Log = Logger;

/** Lines are gathered for at most this long: a write each would cost more than the requests they tell of. */
const gatherMs = 100;
/** What several processes write to one pipe stays whole up to PIPE_BUF; a process that serves alone gathers more. */
const gathered =
  workerNumber === undefined
    ? { gatheredBytes: 8_192, writeBytesMax: 16_384 }
    : { gatheredBytes: 2_048, writeBytesMax: 4_096 };
/** Of lines that nobody takes: the disk is full, or who reads them stands still. */
const waitingBytesMax = 16_777_216;

/** The structured log: JSON lines on standard output, or readable lines when that is a terminal. */
export function createLog(level: string, destination?: DestinationStream): Log {
  const lost = (lines: number) => log.warn({ lines }, "lines of the log were lost: nobody took them");
  const log: Log = pino(
    { level, base: workerNumber === undefined ? null : { worker: workerNumber } },
    destination ?? defaultDestination(lost),
  );
  return log;
}

/** A log that cannot be written is no reason not to serve, nor to end. */
function defaultDestination(onLost: (lines: number) => void): DestinationStream {
  process.stdout.on("error", () => {}); // of what is written there besides
  if (process.stdout.isTTY) return pino.transport({ target: "pino-pretty", options: { ignore: "pid,hostname" } });
  return createLineWriter(1, { gatherMs, ...gathered, waitingBytesMax, onLost });
}

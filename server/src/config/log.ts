import { createRequire } from "node:module";
import { type DestinationStream, type Logger, pino } from "pino";
import { createLineWriter, type LineWriter } from "../lib/line-writer.ts";
import { workerNumber } from "./worker-number.ts";

export type Log = Logger & {
  /**
   * Writes a line at level info without the general serializer, for lines as frequent as requests: the serializer would
   * cost as much as a database look-up.
   *
   * @param members as JSON, without the braces
   */
  writeMembers(members: string): void;
  /** When lines were last dropped. */
  readonly losses: { readonly at: number | undefined };
};

/** Lines are buffered for at most this long, because a write per line would cost more than the requests. */
const gatherMs = 100;
/** Writes of several processes to one pipe are atomic only up to PIPE_BUF. A single process may write more. */
const gathered =
  workerNumber === undefined
    ? { gatheredBytes: 32_768, writeBytesMax: 65_536 }
    : { gatheredBytes: 2_048, writeBytesMax: 4_096 };
/** Bounds the buffer if the reader of standard output stalls or the disk is full. */
const waitingBytesMax = 16_777_216;

/** Creates the structured log: JSON lines on standard output, or readable lines on a terminal. */
export function createLog(level: string, destination?: DestinationStream): Log {
  const losses: { at: number | undefined } = { at: undefined };
  const stream =
    destination ??
    defaultDestination((lines) => {
      losses.at = Date.now();
      warnOfLostLines(lines, log);
    });
  const log = pino({ level, base: workerNumber === undefined ? null : { worker: workerNumber } }, stream);
  const base = workerNumber === undefined ? "" : `,"worker":${workerNumber}`;
  return Object.assign(log, {
    losses,
    writeMembers(members: string) {
      if (log.isLevelEnabled("info")) stream.write(`{"level":30,"time":${Date.now()}${base},${members}}\n`);
    },
  });
}

/** Creates a log that buffers its lines until `release`. */
export function createHeldLog(level: string): { readonly log: Log; release(): void } {
  const stream = defaultDestination((lines) => warnOfLostLines(lines, log));
  let held: string[] | undefined = [];
  const write = (line: string) => void (held === undefined ? stream.write(line) : held.push(line));
  const flush = (done: () => void) => (stream.flush === undefined ? done() : stream.flush(done));
  const log = createLog(level, Object.assign({ write }, { flush }));
  return {
    log,
    release() {
      for (const line of held ?? []) stream.write(line);
      held = undefined;
    },
  };
}

function warnOfLostLines(lines: number, log: Logger): void {
  log.warn({ lines }, "log lines were dropped, because standard output did not accept them in time");
}

/** A failing log must neither stop the server nor prevent its exit. */
function defaultDestination(onLost: (lines: number) => void): DestinationStream & Partial<LineWriter> {
  process.stdout.on("error", () => {}); // from other writers to standard output
  if (process.stdout.isTTY) return readableLines();
  return createLineWriter(1, { gatherMs, ...gathered, waitingBytesMax, onLost });
}

/** Loads pino from its package, because it starts a worker thread with another file of the package. */
function readableLines(): DestinationStream {
  const installed: typeof import("pino") = createRequire(import.meta.url)("pino");
  return installed.transport({ target: "pino-pretty", options: { ignore: "pid,hostname" } });
}

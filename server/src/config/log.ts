import { createRequire } from "node:module";
import { type DestinationStream, type Logger, pino } from "pino";
import { createLineWriter, type LineWriter } from "../lib/line-writer.ts";
import { workerNumber } from "./worker-number.ts";

export type Log = Logger & {
  /**
   * Writes a line at level info, like `info`, for lines as frequent as requests: the general serializer costs as much as
   * a look-up in the database.
   *
   * @param members as JSON, without the braces
   */
  writeMembers(members: string): void;
  /** When lines were last dropped. */
  readonly losses: { readonly at: number | undefined };
};

/** Lines are buffered for at most this long, because one write per line would cost more than the requests. */
const gatherMs = 100;
/** Writes of several processes to one pipe are atomic only up to PIPE_BUF; a single process may buffer more. */
const gathered =
  workerNumber === undefined
    ? { gatheredBytes: 32_768, writeBytesMax: 65_536 }
    : { gatheredBytes: 2_048, writeBytesMax: 4_096 };
/** The bound of the buffer when the reader of standard output is stalled or the disk is full. */
const waitingBytesMax = 16_777_216;

/** The structured log: JSON lines on standard output, or readable lines when that is a terminal. */
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

/** A log that writes nothing before `release` is called. */
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

/** A failing log must neither stop the server nor prevent it from exiting. */
function defaultDestination(onLost: (lines: number) => void): DestinationStream & Partial<LineWriter> {
  process.stdout.on("error", () => {}); // other writers of standard output fail too
  if (process.stdout.isTTY) return readableLines();
  return createLineWriter(1, { gatherMs, ...gathered, waitingBytesMax, onLost });
}

/** Starts a worker thread with a file of the package pino, which is therefore not loaded from a bundle. */
function readableLines(): DestinationStream {
  const installed: typeof import("pino") = createRequire(import.meta.url)("pino");
  return installed.transport({ target: "pino-pretty", options: { ignore: "pid,hostname" } });
}

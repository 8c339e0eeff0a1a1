import { fstatSync, readFileSync, type Stats } from "node:fs";
import { isatty } from "node:tty";

/** The properties of the process that show where its output goes. */
export interface Surroundings {
  readonly isTerminal: boolean;
  readonly stats: Pick<Stats, "dev" | "ino"> & { isFile(): boolean };
  readonly journalStream: string | undefined;
  readonly pid: number;
  readonly ppid: number;
  /** The command line of process 1, of the system or of the container. */
  readonly firstProcess: string;
}

/**
 * Whether standard output is stored: in a file, the systemd journal or the log of a container. A terminal and a pipe to
 * the parent process are not stored.
 */
export function isOutputStored(given: Surroundings = surroundings()): boolean {
  const { isTerminal, stats, journalStream, pid, ppid, firstProcess } = given;
  if (isTerminal) return false;
  if (stats.isFile() || journalStream === `${stats.dev}:${stats.ino}`) return true;
  // Process 1 of a container, or a child of its init, of the launcher or of the supervisor.
  return pid === 1 || (ppid === 1 && firstOfContainer.test(firstProcess));
}

/** An init, the launcher or the supervisor, but no other program that runs as process 1. */
const firstOfContainer =
  /^(?:\S*\/)?(?:tini|docker-init|dumb-init|catatonit|s6-svscan)(?: |$)|\/rollcall(?:\.mjs)? |\/main\.[jt]s(?: |$)/;

function surroundings(): Surroundings {
  return {
    isTerminal: isatty(1),
    stats: fstatSync(1),
    journalStream: process.env["JOURNAL_STREAM"],
    pid: process.pid,
    ppid: process.ppid,
    firstProcess: readFirstProcess(),
  };
}

function readFirstProcess(): string {
  try {
    return readFileSync("/proc/1/cmdline", "utf8").replaceAll("\0", " ");
  } catch {
    return "";
  }
}

import path from "node:path";
import { parseArgs } from "node:util";

/** The options on the command line. */
export interface Options {
  readonly engine: "sqlite" | "postgres";
  /** Empty for all measurements. */
  readonly only: readonly string[];
  readonly seconds: number;
  readonly warmUpSeconds: number;
  readonly runs: number;
  readonly starts: number;
  /** The time for which each measurement waits until the machine is idle. */
  readonly patienceSeconds: number;
  readonly connections: number;
  /** The numbers of check-ins to search in; the first is the baseline of the others. */
  readonly searchSizes: readonly number[];
  /** The numbers of events to read metrics of. */
  readonly eventCounts: readonly number[];
  readonly slowUploads: { readonly count: number; readonly bytes: number; readonly seconds: number };
  readonly largeFileBytes: number;
  /** Open streams of events, how long they rest, and the events that a thousand and all of them receive. */
  readonly events: {
    readonly streams: number;
    readonly restSeconds: number;
    readonly events: number;
    readonly eventsToAll: number;
    readonly missedEvents: number;
  };
  /** Compares a small database with a grown one, in place of the other measurements. */
  readonly isGrowth: boolean;
  /** Compares Rollcall with other products, in place of the other measurements. */
  readonly isPeers: boolean;
  /** The programs of other products; those without a path are left out. */
  readonly peers: PeerPrograms;
  /** Another checkout of Rollcall, which `--peers` measures too. */
  readonly before?: string | undefined;
  /** Of the sizes of the grown database. */
  readonly scalePercent: number;
  /** The folder that keeps the grown SQLite database for further runs. */
  readonly grownFolder?: string | undefined;
  readonly json: string;
}

/** The paths of other products' programs. */
export interface PeerPrograms {
  readonly pocketbase?: string | undefined;
  readonly nakama?: string | undefined;
  readonly parseServer?: string | undefined;
}

/** The command line is wrong, or asks for help; the message is for the terminal. */
export class UsageError extends Error {
  readonly isHelp: boolean;

  constructor(message: string, isHelp = false) {
    super(message);
    this.isHelp = isHelp;
  }
}

/** @throws UsageError, for `--help` too */
export function readOptions(args: readonly string[], names: readonly string[], defaultJson: string): Options {
  const usage = `Usage: npm run bench -- [options] [name …]

  a, b, …            run only these of the names of --only
  --postgres         measure on a temporary PostgreSQL server with durable settings (default: SQLite)
  --only a,b         run only these of: ${names.join(", ")}
  --seconds N        length of each measurement (3)
  --runs N           repetitions of each measurement; the table shows the median (3)
  --connections N    connections of the load generator (64)
  --patience N       seconds that each measurement waits for the machine to become idle (10)
  --json FILE        file for all raw figures (bench/results/<time>.json)
  --large            also search among 10 million check-ins and read metrics of 10 million events; half an hour more
  --growth           compare the requests on a small database and on one with 10 million check-ins, 1 million users,
                     100,000 devices and 10,000 applications, in place of everything else
  --scale N          the size of that database in percent (100; with --quick 1)
  --grown FOLDER     keep that database in this folder, and take it from there if an earlier run has filled it; SQLite only
  --peers            compare Rollcall with other products, in place of everything else; requires wrk
  --before FOLDER    with --peers: also measure the Rollcall of another checkout, for the effect of a change
  --pocketbase PATH, --nakama PATH, --parse-server PATH
                     their programs (or POCKETBASE, NAKAMA, PARSE_SERVER); one without a path is left out
  --quick            one run of one second each, to check that everything works
`;
  const { values, positionals } = parse(args, usage);
  if (values.help) throw new UsageError(usage, true);

  function number(
    name: "seconds" | "runs" | "connections" | "patience" | "scale",
    standard: number,
    maximum: number,
  ): number {
    const value = Number(values[name] ?? standard);
    if (Number.isInteger(value) && value >= 1 && value <= maximum) return value;
    throw new UsageError(`--${name} must be an integer from 1 to ${maximum}\n`);
  }
  const only = [...(values.only ?? "").split(",").filter((name) => name !== ""), ...positionals];
  const unknown = only.filter((name) => !names.includes(name));
  if (unknown.length > 0) throw new UsageError(`--only: there is no measurement ${unknown.join(", ")}\n\n${usage}`);

  if (values.grown !== undefined && values.postgres) throw new UsageError("--grown keeps a database of SQLite only\n");

  const isQuick = values.quick ?? false;
  return {
    engine: values.postgres ? "postgres" : "sqlite",
    only,
    seconds: number("seconds", isQuick ? 1 : 3, 600),
    warmUpSeconds: isQuick ? 1 : 2,
    runs: number("runs", isQuick ? 1 : 3, 100),
    starts: isQuick ? 3 : 9,
    patienceSeconds: number("patience", isQuick ? 1 : 10, 600),
    connections: number("connections", 64, 1_000),
    searchSizes: isQuick ? [10_000, 50_000] : [10_000, 1_000_000, ...(values.large ? [10_000_000] : [])],
    eventCounts: isQuick ? [100_000] : [1_000_000, ...(values.large ? [10_000_000] : [])],
    slowUploads: isQuick ? { count: 50, bytes: 1_000_000, seconds: 3 } : { count: 200, bytes: 5_000_000, seconds: 12 },
    largeFileBytes: isQuick ? 100_000_000 : 1_000_000_000,
    events: isQuick
      ? { streams: 1_000, restSeconds: 5, events: 10, eventsToAll: 3, missedEvents: 1_000 }
      : { streams: 10_000, restSeconds: 60, events: 100, eventsToAll: 20, missedEvents: 10_000 },
    isGrowth: values.growth ?? false,
    isPeers: values.peers ?? false,
    peers: {
      pocketbase: resolved(values.pocketbase ?? process.env["POCKETBASE"]),
      nakama: resolved(values.nakama ?? process.env["NAKAMA"]),
      parseServer: resolved(values["parse-server"] ?? process.env["PARSE_SERVER"]),
    },
    before: resolved(values.before),
    scalePercent: number("scale", isQuick ? 1 : 100, 1_000),
    grownFolder: resolved(values.grown),
    json: values.json ?? defaultJson,
  };
}

/** Programs run in a folder of their own. */
function resolved(given: string | undefined): string | undefined {
  return given === undefined ? undefined : path.resolve(given);
}

function parse(args: readonly string[], usage: string) {
  try {
    return parseArgs({
      args: [...args],
      allowPositionals: true,
      options: {
        postgres: { type: "boolean" },
        only: { type: "string" },
        seconds: { type: "string" },
        runs: { type: "string" },
        connections: { type: "string" },
        patience: { type: "string" },
        json: { type: "string" },
        large: { type: "boolean" },
        growth: { type: "boolean" },
        peers: { type: "boolean" },
        pocketbase: { type: "string" },
        nakama: { type: "string" },
        "parse-server": { type: "string" },
        before: { type: "string" },
        scale: { type: "string" },
        grown: { type: "string" },
        quick: { type: "boolean" },
        help: { type: "boolean" },
      },
    });
  } catch (error) {
    throw new UsageError(`${error instanceof Error ? error.message : error}\n\n${usage}`);
  }
}

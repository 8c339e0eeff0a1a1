import { createSqlite, ofCheckout, startPostgres } from "./engine.ts";
import { preferredTool, runFreshLoad } from "./load.ts";
import type { LoadResult } from "./load-plan.ts";
import type { Options } from "./options.ts";
import { type Peer, type PeerRow, peerRows, type RunningPeer } from "./peer.ts";
import { nakama } from "./peer-nakama.ts";
import { parseServer } from "./peer-parse-server.ts";
import { pocketbase } from "./peer-pocketbase.ts";
import { rollcall } from "./peer-rollcall.ts";
import { untilQuiet } from "./quiet.ts";
import { formatMany } from "./report.ts";
import { median, withCpuTime } from "./turns.ts";

/** Some products need more than a second for sixteen logins. */
const loginSecondsMin = 5;

/** A table: a line for each row, a column for each product. */
export interface PeersTable {
  readonly products: readonly string[];
  readonly lines: readonly { readonly name: string; readonly values: readonly (string | undefined)[] }[];
  /** The products without a path, and those that failed with the reason. */
  readonly leftOut: readonly string[];
}

/** Measures Rollcall and other products in turns, request by request. */
export async function measurePeers(options: Options, report: (line: string) => void): Promise<PeersTable> {
  if (preferredTool() !== "wrk") throw new Error("--peers needs wrk, which reads the responses of every product");
  const postgres = await startPostgres();
  const given = [
    ...[createSqlite(), postgres].flatMap((engine) => [
      rollcall(engine),
      ...optional(options.before, (before) => rollcall(ofCheckout(engine, before), `before, ${engine.name}`)),
    ]),
    ...optional(options.peers.pocketbase, pocketbase),
    ...optional(options.peers.nakama, nakama),
    ...optional(options.peers.parseServer, parseServer),
  ];
  const leftOut = Object.entries(options.peers).flatMap(([name, path]) =>
    path === undefined ? [`${name}: no path`] : [],
  );
  const running: { name: string; peer: RunningPeer }[] = [];
  for (const { name, start } of given) {
    try {
      const peer = await start(postgres);
      running.push({ name, peer });
      report(`${name}: started in ${peer.startedInMs.toFixed(0)} ms`);
    } catch (error) {
      leftOut.push(`${name}: ${error instanceof Error ? error.message : String(error)}`);
    }
  }
  const lines: PeersTable["lines"][number][] = [];
  for (const [row, name] of Object.entries(peerRows)) {
    const loadsOf = running.map((): PeerLoad[] => []);
    for (let run = 0; run <= options.runs; run += 1) {
      for (const [index, { peer }] of running.entries()) {
        const load = await measure(peer, row as PeerRow, options); // Object.entries forgets the keys
        if (run > 0 && load !== undefined) loadsOf[index]?.push(load); // the first run warms up
      }
    }
    lines.push({ name, values: loadsOf.map(describeLoads) });
    report(`${name}: ${lines.at(-1)?.values.map(formatValue).join(", ")}`);
  }
  lines.push({ name: "start, ms", values: running.map(({ peer }) => formatMany(peer.startedInMs)) });
  lines.push({ name: "idle memory, MB", values: running.map(({ peer }) => formatMany(peer.idleBytes / 1e6)) });
  for (const { peer } of running) await peer.stop();
  return { products: running.map(({ name }) => name), lines, leftOut };
}

function optional(path: string | undefined, makePeer: (program: string) => Peer): Peer[] {
  return path === undefined ? [] : [makePeer(path)];
}

interface PeerLoad extends LoadResult {
  /** Processor time of the product per request. */
  readonly cpuMicros: number;
}

/** The medians of the rounds: requests per second, p99 in ms, and processor time per request in µs. */
function describeLoads(loads: readonly PeerLoad[]): string | undefined {
  if (loads.length === 0) return undefined;
  const of = (figure: "perSecond" | "p99Ms" | "cpuMicros") => median(loads.map((load) => load[figure]));
  return `${formatMany(of("perSecond"))}  ${of("p99Ms").toFixed(1)}  ${of("cpuMicros").toFixed(0)}`;
}

/** Undefined for a product that has no such request. */
async function measure(
  peer: RunningPeer,
  row: PeerRow,
  { connections, seconds, patienceSeconds }: Options,
): Promise<PeerLoad | undefined> {
  const { port } = peer;
  const request = peer.requests[row];
  if (request === undefined) return undefined;
  await untilQuiet(patienceSeconds);
  const { status, numbersMax } = request;
  const plan = { port, request, status, connections, seconds, numbersMax };
  // Hashes of passwords are slow, and wrk would cut them off.
  const logins = { ...plan, connections: 16, seconds: Math.max(seconds, loginSecondsMin) };
  return withCpuTime(peer.cpuSeconds, () =>
    row === "login" ? runFreshLoad(logins, "own") : runFreshLoad(plan, "wrk"),
  );
}

export function formatPeers({ products, lines, leftOut }: PeersTable): string {
  const cells = [["", ...products], ...lines.map(({ name, values }) => [name, ...values.map(formatValue)])];
  const widths = ["", ...products].map((_, column) => Math.max(...cells.map((line) => (line[column] ?? "").length)));
  const table = cells.map((line) =>
    line
      .map((cell, column) => (column === 0 ? cell.padEnd(widths[0] ?? 0) : cell.padStart(widths[column] ?? 0)))
      .join("  "),
  );
  const legend = "Requests per second, p99 in ms, processor time of the product per request in µs.";
  return [legend, ...table, ...leftOut.map((line) => `left out: ${line}`)].join("\n");
}

function formatValue(value: string | undefined): string {
  return value ?? "–";
}

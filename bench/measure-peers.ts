import { createSqlite, startPostgres } from "./engine.ts";
import { preferredTool, runLoad } from "./load.ts";
import type { Options } from "./options.ts";
import { type Peer, type PeerRow, peerRows, type RunningPeer } from "./peer.ts";
import { nakama } from "./peer-nakama.ts";
import { parseServer } from "./peer-parse-server.ts";
import { pocketbase } from "./peer-pocketbase.ts";
import { rollcall } from "./peer-rollcall.ts";
import { untilQuiet } from "./quiet.ts";
import { formatMany } from "./report.ts";
import { median } from "./statistics.ts";

const numbersPerLoad = 10_000_000;
/** Some products need more than a second for sixteen logins. */
const loginSecondsMin = 5;

/** A table: a line for each row, a column for each product. */
export interface PeersTable {
  readonly products: readonly string[];
  readonly lines: readonly { readonly name: string; readonly values: readonly (number | undefined)[] }[];
  /** The products without a path, and those that failed with the reason. */
  readonly leftOut: readonly string[];
}

/** Measures Rollcall and other products in turns, request by request. */
export async function measurePeers(options: Options, report: (line: string) => void): Promise<PeersTable> {
  if (preferredTool() !== "wrk") throw new Error("--peers needs wrk, which reads the responses of every product");
  const postgres = await startPostgres();
  const given = [
    ...[rollcall(createSqlite()), rollcall(postgres)],
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
  let loads = 0;
  for (const [row, name] of Object.entries(peerRows)) {
    const rates = running.map((): number[] => []);
    for (let run = 0; run <= options.runs; run += 1) {
      for (const [index, { peer }] of running.entries()) {
        loads += 1;
        const rate = await measure(peer, row as PeerRow, loads, options); // Object.entries forgets the keys
        if (run > 0 && rate !== undefined) rates[index]?.push(rate); // the first run warms up
      }
    }
    lines.push({ name, values: rates.map((each) => (each.length === 0 ? undefined : median(each))) });
    report(`${name}: ${lines.at(-1)?.values.map(formatValue).join(", ")}`);
  }
  lines.push({ name: "start, ms", values: running.map(({ peer }) => peer.startedInMs) });
  lines.push({ name: "idle memory, MB", values: running.map(({ peer }) => peer.idleBytes / 1e6) });
  for (const { peer } of running) await peer.stop();
  return { products: running.map(({ name }) => name), lines, leftOut };
}

function optional(path: string | undefined, makePeer: (program: string) => Peer): Peer[] {
  return path === undefined ? [] : [makePeer(path)];
}

/** Requests per second, or undefined for a product that has no such request. */
async function measure(
  { port, requests }: RunningPeer,
  row: PeerRow,
  loads: number,
  { connections, seconds, patienceSeconds }: Options,
): Promise<number | undefined> {
  const request = requests[row];
  if (request === undefined) return undefined;
  await untilQuiet(patienceSeconds);
  const { status, numbersMax = 10_000_000_000 } = request;
  const firstNumber = (loads * numbersPerLoad) % numbersMax;
  const plan = { port, request, status, connections, seconds, firstNumber, numbersMax };
  if (row !== "login") return (await runLoad(plan, "wrk")).perSecond;
  // Hashes of passwords are slow, and wrk would cut them off.
  const logins = { ...plan, connections: 16, seconds: Math.max(seconds, loginSecondsMin) };
  return (await runLoad(logins, "own")).perSecond;
}

export function formatPeers({ products, lines, leftOut }: PeersTable): string {
  const cells = [["", ...products], ...lines.map(({ name, values }) => [name, ...values.map(formatValue)])];
  const widths = ["", ...products].map((_, column) => Math.max(...cells.map((line) => (line[column] ?? "").length)));
  const table = cells.map((line) =>
    line
      .map((cell, column) => (column === 0 ? cell.padEnd(widths[0] ?? 0) : cell.padStart(widths[column] ?? 0)))
      .join("  "),
  );
  return [...table, ...leftOut.map((line) => `left out: ${line}`)].join("\n");
}

function formatValue(value: number | undefined): string {
  return value === undefined ? "–" : formatMany(value);
}

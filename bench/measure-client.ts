import { execFileSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { startWorker } from "../testkit/worker.ts";
import type { ClientRate, ClientRound, ClientSetting } from "./client/plan.ts";
import type { Fixture } from "./fixture.ts";
import type { Options } from "./options.ts";
import { formatMany, type Row } from "./report.ts";
import { type Measure, measureInTurns, median } from "./turns.ts";

const pairCount = 10;
const concurrencies = [1, 16];
const ratioGoals = { GET: 0.9, POST: 0.88 };
const importMsGoal = 20;
const megabyte = 1_000_000;
const callCounts = { few: 10_000, many: 100_000 };

/** The client of apps against bare `fetch` and `JSON.parse`, its import, and its memory after many calls. */
export const measureClient: Measure = async (fixture, options, report) => {
  execFileSync(process.execPath, [fileURLToPath(import.meta.resolve("../scripts/compile-sdk.ts"))]);
  return [...(await measureCalls(fixture, options, report)), ...measureImport(options), await measureMemory()];
};

async function measureCalls(
  { server, reader, checkinId }: Fixture,
  options: Options,
  report: (progress: string) => void,
): Promise<Row[]> {
  const setting: ClientSetting = { url: `http://127.0.0.1:${server.port}`, token: reader.token, checkinId };
  const worker = startWorker<ClientRound, ClientRate>(import.meta.resolve("./client/calls.ts"), setting);
  const seconds = Math.max(0.5, options.seconds / 3);
  const rows: Row[] = [];
  for (const method of ["GET", "POST"] as const) {
    for (const concurrency of concurrencies) {
      const name = `client, ${method}, ${concurrency} at a time`;
      const measure = (by: ClientRound["by"]) => worker.ask({ method, by, concurrency, seconds });
      await measure("fetch");
      await measure("client");
      const { pairs, ratio, median } = await measureInTurns(
        { ...options, runs: pairCount },
        () => measure("fetch"),
        () => measure("client"),
        (bare, own) => own.perSecond / bare.perSecond,
        ({ base, own }) =>
          report(`${name}: ${formatMany(own.perSecond)} against ${formatMany(base.perSecond)} calls/s`),
      );
      const goal = ratioGoals[method];
      rows.push({
        name,
        measured: `${formatMany(median(({ own }) => own.perSecond))}/s`,
        cpuMicros: median(({ own }) => own.cpuMicros),
        against: describeBare(pairs.map(({ base }) => base)),
        ratio,
        goal: { text: `≥ ${goal * 100} %`, isMet: ratio >= goal },
        details: { pairs },
      });
    }
  }
  await worker.end();
  return rows;
}

function describeBare(rates: readonly ClientRate[]): string {
  const perSecond = formatMany(median(rates.map((rate) => rate.perSecond)));
  return `bare fetch, ${perSecond}/s, ${formatMany(median(rates.map((rate) => rate.cpuMicros)))} CPU µs`;
}

function measureImport({ starts }: Options): Row[] {
  const script = fileURLToPath(import.meta.resolve("./client/import.mjs"));
  const runs: { ms: number; bytes: number }[] = Array.from({ length: starts }, () =>
    JSON.parse(execFileSync(process.execPath, ["--expose-gc", script], { encoding: "utf8" })),
  );
  const ms = median(runs.map((run) => run.ms));
  const bytes = median(runs.map((run) => run.bytes));
  return [
    {
      name: "client, import",
      measured: `${ms.toFixed(1)} ms`,
      goal: { text: `≤ ${importMsGoal} ms`, isMet: ms <= importMsGoal },
      details: { runs },
    },
    {
      name: "client, heap of the import",
      measured: formatMegabytes(bytes),
      goal: { text: "≤ 1 MB", isMet: bytes <= megabyte },
      details: { runs },
    },
  ];
}

async function measureMemory(): Promise<Row> {
  const worker = startWorker<{ calls: number }, number>(import.meta.resolve("./client/memory.ts"), {});
  const few = await worker.ask({ calls: callCounts.few });
  const many = await worker.ask({ calls: callCounts.many });
  await worker.end();
  return {
    name: `client, heap after ${formatMany(callCounts.many)} calls`,
    measured: formatMegabytes(many),
    against: `${formatMegabytes(few)} after ${formatMany(callCounts.few)}`,
    goal: { text: "≤ 1 MB more", isMet: many - few <= megabyte },
    details: { few, many },
  };
}

function formatMegabytes(bytes: number): string {
  return `${(bytes / megabyte).toFixed(2)} MB`;
}

/**
 * Fuzzes the server from the OpenAPI documents that it serves: `npm run test:fuzz -- [options]`. The last line is always
 * "N calls, N failures".
 */
import { parseArgs, styleText } from "node:util";
import { formatFailure, formatTallies } from "./report.ts";
import { type RunOptions, type RunResult, run } from "./run.ts";

const usage = `Usage: npm run test:fuzz -- [options]

Starts its own servers, and calls every operation of their OpenAPI documents as every kind of caller, with values that are
valid, nearly valid, or hostile. A failure is an undeclared response, a 5xx, or a text of another user in a response.

  --calls N         number of calls (100000: seven tenths on SQLite, the rest on PostgreSQL)
  --seed S          make the same random choices as the run that printed this seed
  --engine E        sqlite or postgres (both)
  --operation ID    call this operation only, such as createCheckin; may be given several times
  --help            print this text

The exit code is 0 without failures, 1 with failures, 2 when the command is wrong.
`;

const options = readOptions();
if (options !== undefined) {
  console.log(`seed ${options.seed}`);
  let calls = 0;
  const failures: string[] = [];
  for (const each of options.runs) {
    const startedAt = performance.now();
    const result = await run(each);
    calls += result.calls;
    failures.push(...result.failures.map((failure) => `${describe(each)}\n${formatFailure(failure)}\n`));
    print(each, result, (performance.now() - startedAt) / 1_000);
  }
  // At the end, so that they are in the tail of a long log.
  for (const failure of failures) console.log(failure);
  if (failures.length > 0) console.log(`seed ${options.seed}`);
  const total = `${calls} calls, ${failures.length} failures`;
  console.log(styleText(failures.length > 0 ? "red" : "green", total));
  if (failures.length > 0) process.exitCode = 1;
}

function describe({ engine, rateLimits }: RunOptions): string {
  return styleText("bold", `${engine === "sqlite" ? "SQLite" : "PostgreSQL"}, rate limits ${rateLimits}`);
}

function print(options: RunOptions, { calls, tallies, markers, residentBytes }: RunResult, seconds: number): void {
  console.log(describe(options));
  if (options.rateLimits === "off" && options.only.length === 0) console.log(formatTallies(tallies));
  const successes = [...tallies.values()].reduce((sum, each) => sum + each.successes, 0);
  console.log(
    `${calls} calls of ${tallies.size} operations in ${seconds.toFixed(0)} s: ${successes} succeeded; ` +
      `${markers} secrets seeded; ${Math.round(residentBytes / 1e6)} MB at the end\n`,
  );
}

function readOptions(): { readonly seed: number; readonly runs: readonly RunOptions[] } | undefined {
  const text = { type: "string" } as const;
  try {
    const { values } = parseArgs({
      options: {
        calls: text,
        seed: text,
        engine: text,
        operation: { type: "string", multiple: true },
        help: { type: "boolean" },
      },
    });
    if (values.help) {
      process.stdout.write(usage);
      return undefined;
    }
    const calls = readCount("calls", values.calls ?? "100000");
    const seed = values.seed === undefined ? Math.floor(Math.random() * 2 ** 31) : readCount("seed", values.seed);
    const { engine, operation: only = [] } = values;
    if (engine !== undefined && engine !== "sqlite" && engine !== "postgres")
      throw new Error("--engine must be sqlite or postgres");
    const of = (name: RunOptions["engine"], share: number, rateLimits: RunOptions["rateLimits"]): RunOptions => ({
      ...{ engine: name, calls: Math.round(calls * share), seed, rateLimits, only },
    });
    const sqlite = (share: number) => [of("sqlite", share * 0.97, "off"), of("sqlite", share * 0.03, "on")];
    const postgres = (share: number) => [of("postgres", share, "off")];
    const runs = {
      sqlite: () => sqlite(1),
      postgres: () => postgres(1),
      both: () => [...sqlite(0.7), ...postgres(0.3)],
    };
    return { seed, runs: runs[engine ?? "both"]() };
  } catch (error) {
    console.error(`${error instanceof Error ? error.message : error}\n\n${usage}`);
    process.exitCode = 2;
    return undefined;
  }
}

function readCount(name: string, text: string): number {
  if (!/^\d{1,10}$/.test(text)) throw new Error(`--${name} must be a number, not ${text}`);
  return Number(text);
}

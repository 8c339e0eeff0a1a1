import { startTestIssuer } from "../server/test/oidc-issuer.ts";
import { type Answer, createConnection, noAnswer, tooLate } from "./connection.ts";
import { type Deployment, deploy, type Engine } from "./deployment.ts";
import { createResolver, type Document, type Operation, readOperations } from "./document.ts";
import type { Fault } from "./envelopes.ts";
import { found } from "./founding.ts";
import { describeCaller } from "./judge.access.ts";
import { createJudge } from "./judge.ts";
import { learn } from "./learn.ts";
import { createMarkers, type Markers } from "./markers.ts";
import { type Plan, planCall } from "./plan.ts";
import { prepare } from "./preparation.ts";
import { createSeeded } from "./random.ts";
import { createProgress, type Failure, newTallies, type Tally } from "./report.ts";
import { describeRequest } from "./request.ts";
import { createSchedule } from "./schedule.ts";
import { createSeeder } from "./seeding.ts";
import { takeSnapshot } from "./snapshot.ts";
import { hasSandbox, keepUp } from "./upkeep.ts";
import type { Seeding, World } from "./world.ts";

export interface RunOptions {
  readonly engine: Engine;
  /** The settings of a running database of this engine; one of its own if there are none. */
  readonly database?: Readonly<Record<string, string>>;
  readonly calls: number;
  readonly seed: number;
  readonly rateLimits: "on" | "off";
  /** The operations to call, by id; all if empty. */
  readonly only: readonly string[];
}

export interface RunResult {
  readonly calls: number;
  readonly failures: readonly Failure[];
  readonly tallies: ReadonlyMap<string, Tally>;
  readonly markers: number;
  readonly residentBytes: number;
}

const connectionsMax = 12;
/** An archive of a user who is deleted meanwhile never completes. */
const mayBreakOff = ["exportUser", "downloadUser"];
const residentBytesMax = 900_000_000;
const failuresMax = 200;

/** Fuzzes a server of its own. */
export async function run(options: RunOptions): Promise<RunResult> {
  const deployment = await deploy(options.engine, options.rateLimits, options.database);
  const issuer = await startTestIssuer(Date.now);
  try {
    return await fuzz(options, deployment, issuer);
  } finally {
    await issuer.close();
    await deployment.close();
  }
}

async function fuzz(
  { calls, seed, engine, only, rateLimits }: RunOptions,
  deployment: Deployment,
  issuer: Awaited<ReturnType<typeof startTestIssuer>>,
): Promise<RunResult> {
  const { port } = deployment.server;
  const random = createSeeded(seed, -1);
  const markers = createMarkers(random.word);
  const founder = createConnection(port);
  const seeding: Seeding = { seeder: createSeeder(founder), markers, random };
  const world = await found(deployment.root, issuer, seeding);
  const operations = (await readDocuments(port)).flatMap(readOperations);
  const judge = createJudge({ markers, resolve: createResolver(operations) });
  const schedule = createSchedule(operations, only, calls, createSeeded(seed, -2));
  const before = await takeSnapshot(world, seeding.seeder);
  const tallies = newTallies(operations);
  const failures = new Map<string, Failure>();
  const progress = createProgress(engine === "sqlite" ? "SQLite" : "PostgreSQL", calls);

  function fail(plan: Plan | undefined, { kind, details }: Fault, answer?: Answer): void {
    const operation = plan?.operation.id ?? "afterwards";
    const known = failures.get(`${operation} ${kind}`);
    if (known !== undefined) {
      known.count += 1;
      return;
    }
    failures.set(`${operation} ${kind}`, {
      operation: plan === undefined ? operation : `${operation}, call ${plan.index}, by ${describeCaller(plan.caller)}`,
      kind,
      details,
      request: plan === undefined ? "" : describeRequest(plan.bytes),
      answer: answer === undefined ? "" : `${answer.status} ${answer.text}`,
      log: answer === undefined ? "" : findLogLines(answer, deployment.server.output()),
      count: 1,
    });
  }

  /** Calls with idempotency keys that are sent a second time. */
  const keyed = new Map<string, Plan[]>();
  function remember(plan: Plan): void {
    keyed.set(plan.operation.id, [...(keyed.get(plan.operation.id) ?? []).slice(-9), plan]);
  }

  const upkeep = keepUp(world, seeding, port);
  let next = 0;
  async function work(): Promise<void> {
    const connection = createConnection(port);
    const helper = createSeeder(createConnection(port));
    while (next < schedule.length && failures.size < failuresMax) {
      const index = next;
      next += 1;
      upkeep.begin();
      if (!hasSandbox(world)) await upkeep.idle();
      const operation = schedule[index] as Operation; // the index is in range
      const callRandom = createSeeded(seed, index);
      const prepared = await prepare(operation, world, callRandom, { helper, dataDir: deployment.dataDir });
      const again = callRandom.chance(0.05) ? callRandom.pick(keyed.get(operation.id) ?? []) : undefined;
      const plan = again ?? planCall(index, operation, operations, world, callRandom, prepared);
      const { method, bytes, isLast } = plan;
      const processorMsBefore = deployment.processorMs();
      const answer = await connection.send({ method, bytes, isLast });
      const processorMs = deployment.processorMs() - processorMsBefore;
      progress.at(index);
      const tally = tallies.get(operation.id);
      if (tally !== undefined) tally.calls += 1;
      if (answer === noAnswer || answer === tooLate) {
        if (!plan.isBroken && !mayBreakOff.includes(operation.id))
          fail(plan, { kind: String(answer.description), details: "" });
        continue;
      }
      count(tally, answer);
      for (const fault of judge.judge(plan, answer, processorMs)) {
        fail(plan, fault, answer);
      }
      learn(plan, answer, world);
      if (plan.idempotencyKey !== undefined && answer.status < 300 && again === undefined) remember(plan);
    }
    connection.close();
  }
  await Promise.all(Array.from({ length: connectionsMax }, work));
  await upkeep.idle();
  progress.end();

  for (const fault of await judgeAfterwards(world, seeding, before, markers, deployment)) fail(undefined, fault);
  if (only.length === 0 && rateLimits === "off")
    for (const fault of judgeCoverage(tallies, calls)) fail(undefined, fault);
  const residentBytes = deployment.residentBytes();
  const code = await deployment.server.end("SIGTERM");
  if (code !== 0) fail(undefined, { kind: "the end", details: `The server exited with code ${code}` });
  return { calls: schedule.length, failures: [...failures.values()], tallies, markers: markers.count, residentBytes };
}

/** The documents of our own server, for clients and for operators. */
async function readDocuments(port: number): Promise<Document[]> {
  const read = async (name: string) => (await fetch(`http://127.0.0.1:${port}/_/${name}`)).json() as Promise<Document>;
  return Promise.all(["openapi.json", "openapi.operators.json"].map(read));
}

function count(tally: Tally | undefined, { status, text, ms }: Answer): void {
  if (tally === undefined) return;
  tally.ms += ms;
  if (status < 400) tally.successes += 1;
  else {
    tally.refusals += 1;
    tally.errors.add(/"error":"(\w+)"/.exec(text)?.[1] ?? String(status));
  }
}

/** Invariants at the end of a run: protected objects are unchanged, no secret is in the log, and memory is bounded. */
async function judgeAfterwards(
  world: World,
  { seeder }: Seeding,
  before: ReadonlyMap<string, string>,
  markers: Markers,
  { server, residentBytes }: Deployment,
): Promise<Fault[]> {
  const faults: Fault[] = [];
  try {
    const after = await takeSnapshot(world, seeder);
    for (const [what, line] of before) {
      const now = after.get(what);
      if (now !== line) faults.push({ kind: `changed: ${what}`, details: `${line} became ${now}` });
    }
  } catch (error) {
    faults.push({ kind: "a protected object is missing", details: String(error) });
  }
  const log = server.output();
  for (const [line] of log.matchAll(/^\{"level":(?:[56]0|"(?:error|fatal)").*$/gm)) {
    faults.push({ kind: `log: ${/"msg":"([^"]*)"/.exec(line)?.[1]}`, details: line });
  }
  for (const { text, what } of markers.secrets) {
    if (log.includes(text)) faults.push({ kind: "secret in the log", details: what });
  }
  if (residentBytes() > residentBytesMax) {
    faults.push({ kind: "memory", details: `The server uses ${Math.round(residentBytes() / 1e6)} MB` });
  }
  return faults;
}

/** A fuzzer that gets only errors tests nothing. */
function judgeCoverage(tallies: ReadonlyMap<string, Tally>, calls: number): Fault[] {
  if (calls < tallies.size * 30) return [];
  const callsMin = calls / tallies.size / 20; // the rarest operation of the schedule has a tenth of an equal share
  return [...tallies].flatMap(([operation, tally]) => [
    ...(tally.calls < callsMin ? [{ kind: `called ${tally.calls} times: ${operation}`, details: "" }] : []),
    ...(tally.successes === 0 ? [{ kind: `never succeeded: ${operation}`, details: [...tally.errors].join(" ") }] : []),
  ]);
}

/** The log lines of the request. */
function findLogLines({ headers, text, ms }: Answer, log: string): string {
  const requestId = /"request_id":"([^"]+)"/.exec(text)?.[1] ?? headers.get("x-request-id");
  const lines = requestId === undefined ? [] : log.split("\n").filter((line) => line.includes(requestId));
  return [`after ${ms.toFixed(0)} ms`, ...lines].join(" ");
}

import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { writeFileSync } from "node:fs";
import path from "node:path";
import { text } from "node:stream/consumers";
import { adopt, newFolder } from "../testkit/children.ts";
import { type LoadPlan, type LoadResult, numberMark, numbersOfMark } from "./load-plan.ts";

const program = "wrk";
let version: string | undefined;

/** The version that `wrk` prints, or an empty text when it is not installed. */
export function wrkVersion(): string {
  version ??= /^wrk \S+/.exec(spawnSync(program, ["--version"], { encoding: "utf8" }).stdout ?? "")?.[0] ?? "";
  return version;
}

export function hasWrk(): boolean {
  return wrkVersion() !== "";
}

/** Runs `wrk` with one thread. It counts every status from 400 on, and every broken connection, as a failure. */
export async function runWrk(plan: LoadPlan): Promise<LoadResult> {
  const { port, request, connections, seconds } = plan;
  const script = path.join(newFolder("wrk"), "script.lua");
  writeFileSync(script, `${makeRequests(plan)}${printResult}`);
  const settings = ["-t1", `-c${connections}`, `-d${Math.ceil(seconds)}s`, "--timeout", "30s", "-s", script];
  const headers = Object.entries(headersOf(request)).flatMap(([name, value]) => ["-H", `${name}: ${value}`]);
  const wrk = adopt(
    spawn(program, [...settings, ...headers, `http://127.0.0.1:${port}${request.path}`], {
      stdio: ["ignore", "pipe", "pipe"],
    }),
    "SIGKILL",
  );
  const [output, errors, [code]] = await Promise.all([text(wrk.stdout), text(wrk.stderr), once(wrk, "exit")]);
  const json = /^result (.*)$/m.exec(output)?.[1];
  if (code !== 0 || json === undefined) throw new Error(`wrk failed: ${errors || output}`);
  const result: WrkResult = JSON.parse(json);
  return {
    requests: result.requests,
    perSecond: (result.requests / result.microseconds) * 1e6,
    p50Ms: result.p50 / 1000,
    p99Ms: result.p99 / 1000,
    failures: result.failures,
  };
}

/** As `printResult` writes it; times are in microseconds. */
interface WrkResult {
  readonly requests: number;
  readonly microseconds: number;
  readonly p50: number;
  readonly p99: number;
  readonly failures: number;
}

function headersOf({
  token,
  headers,
  body,
  contentType = "application/json",
}: LoadPlan["request"]): Record<string, string> {
  return {
    ...(token !== undefined && { Authorization: `Service ${token}` }),
    ...(body !== undefined && { "Content-Type": contentType }),
    ...headers,
  };
}

/** JSON texts of plain ASCII are valid Lua literals too. */
function makeRequests({ request, firstNumber = 0, numbersMax = numbersOfMark }: LoadPlan): string {
  const { method, body, paths } = request;
  if (paths !== undefined) {
    return `
    local paths = {${paths.map((each) => JSON.stringify(each)).join(",")}}
    local n = 0
    request = function()
      n = n % ${paths.length} + 1
      return wrk.format("${method}", paths[n])
    end`;
  }
  if (body === undefined) return "";
  const [before = "", after] = body.split(numberMark);
  const varied = `${JSON.stringify(before)} .. string.format("%0${numberMark.length}.0f", n) .. ${JSON.stringify(after)}`;
  return `
    local n = ${firstNumber - 1}
    request = function()
      n = (n + 1) % ${numbersMax}
      return wrk.format("${method}", nil, nil, ${after === undefined ? JSON.stringify(before) : varied})
    end`;
}

const printResult = `
  done = function(summary, latency)
    local e = summary.errors
    print(string.format('result {"requests":%d,"microseconds":%d,"p50":%d,"p99":%d,"failures":%d}',
      summary.requests, summary.duration, latency:percentile(50), latency:percentile(99),
      e.status + e.connect + e.read + e.write + e.timeout))
  end`;

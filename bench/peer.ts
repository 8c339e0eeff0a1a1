import { spawn } from "node:child_process";
import { setTimeout as delay } from "node:timers/promises";
import { adopt, end } from "../testkit/children.ts";
import { findFreePort } from "../testkit/free-port.ts";
import { send } from "../testkit/http.ts";
import { plainEnvironment, readTreeCpuSeconds, readTreeResidentBytes } from "../testkit/processes.ts";
import type { Engine } from "./engine.ts";
import type { RequestShape } from "./load-plan.ts";

/** The requests that are measured of every product, in the order of the table. */
export const peerRows = {
  me: "read own profile",
  get: "read one object",
  list: "page of 20",
  create: "create (durable)",
  register: "register device",
  login: "log in",
} as const;

export type PeerRow = keyof typeof peerRows;

/** A request and the status of its success. */
export interface PeerRequest extends RequestShape {
  readonly status: number;
  /** The upper bound of the numbers in its bodies. */
  readonly numbersMax?: number | undefined;
}

/** A process of a product, in a folder of its own. */
export interface PeerProcess {
  readonly port: number;
  readonly startedInMs: number;
  /** Some seconds after its start, before its first request. */
  readonly idleBytes: number;
  /** Processor time so far, of the product's own processes, without a database server. */
  cpuSeconds(): number;
  stop(): Promise<void>;
}

/** A product that runs, with a user and 100 objects. */
export interface RunningPeer extends PeerProcess {
  /** A product may lack a row, such as the registration of devices. */
  readonly requests: Partial<Record<PeerRow, PeerRequest>>;
}

export interface Peer {
  readonly name: string;
  start(postgres: Engine | undefined): Promise<RunningPeer>;
}

export const objectsCount = 100;
export const idleSeconds = 3;
const startMsMax = 60_000;
const pollMs = 5;

/**
 * Starts a product, and waits until its health check succeeds.
 *
 * @param argumentsOf its command line for a port
 */
export async function startPeer(
  program: string,
  argumentsOf: (port: number) => readonly string[],
  healthPath: string,
  folder: string,
): Promise<PeerProcess> {
  const port = await findFreePort();
  const startedAt = performance.now();
  const child = adopt(
    spawn(program, argumentsOf(port), { cwd: folder, env: plainEnvironment(), stdio: ["ignore", "ignore", "inherit"] }),
  );
  let problem: Error | undefined;
  child.once("error", (error) => {
    problem = error;
  });
  while (!(await isHealthy(`http://127.0.0.1:${port}${healthPath}`))) {
    if (problem !== undefined) throw problem;
    if (child.exitCode !== null || child.signalCode !== null) throw new Error(`${program} did not start`);
    if (performance.now() - startedAt > startMsMax) throw new Error(`${program} did not start in time`);
    await delay(pollMs);
  }
  const startedInMs = performance.now() - startedAt;
  await delay(idleSeconds * 1000);
  const pid = child.pid ?? 0; // defined, because the product answers
  return {
    port,
    startedInMs,
    idleBytes: readTreeResidentBytes(pid),
    cpuSeconds: () => readTreeCpuSeconds(pid),
    stop: () => end(child),
  };
}

async function isHealthy(url: string): Promise<boolean> {
  try {
    const response = await fetch(url);
    await response.arrayBuffer();
    return response.ok;
  } catch {
    return false; // the port is still closed
  }
}

/** Sends one request to set up data. @throws when it fails */
export async function ask(
  port: number,
  method: string,
  path: string,
  headers: Readonly<Record<string, string>>,
  body?: object,
): Promise<Readonly<Record<string, unknown>>> {
  const answer = await send({ port }, method, path, { headers, body });
  if (answer.status < 200 || answer.status > 299) throw new Error(`${method} ${path}: ${answer.status} ${answer.text}`);
  return answer.body;
}

/** @throws when the response has no such text */
export function textIn(answer: Readonly<Record<string, unknown>>, name: string): string {
  const value = answer[name];
  if (typeof value !== "string") throw new Error(`the response has no ${name}`);
  return value;
}

import { copyFileSync } from "node:fs";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { settings } from "../server/src/config/settings.ts";
import { newFolder } from "../testkit/children.ts";
import { createDeployment, type Deployment } from "../testkit/deployment.ts";
import { registerDevice } from "../testkit/people.ts";
import { startServer } from "../testkit/server.ts";
import { createApi } from "./api.ts";
import { getSharedPostgres } from "./postgres.ts";
import { type Outcome, openRawClient, type RawClient } from "./raw-client.ts";
import type { Scenario } from "./scenario.ts";
import type { Tally } from "./tally.ts";

const rounds = 8;
const graceMs = 10_000;
/**
 * Clients that keep their connection, clients that open one for each request, and clients that send a request now and
 * then.
 */
const clients = { kept: 12, fresh: 6, idle: 12 };
const certificates = path.join(import.meta.dirname, "../server/test/certificates");

interface Variant {
  readonly isSecure?: boolean;
  findObstacle?(): string | undefined;
  settings?(): Promise<Readonly<Record<string, string>>>;
}

function shutdown(
  name: string,
  { isSecure = false, findObstacle = () => undefined, settings = async () => ({}) }: Variant = {},
): Scenario {
  return {
    name,
    findObstacle,
    promise: "every request is answered, no connection is reset, and the exit code is 0",
    isTimed: true,
    async run(tally) {
      const deployment = await createDeployment(await settings());
      for (let round = 0; round < rounds; round += 1) {
        const server = await startServer(deployment.settings);
        const stop = new AbortController();
        const { ended } = await beginLoad(deployment, server.port, isSecure, tally, stop.signal);
        await sleep(200 + Math.random() * 200);
        const startedAt = performance.now();
        const code = await server.end("SIGTERM");
        const ms = performance.now() - startedAt;
        stop.abort();
        await ended;
        tally.faults += 1;
        tally.recoveryMs.push(ms);
        if (code !== 0) tally.wrong.push(`the exit code was ${code}`);
        if (ms > graceMs) tally.wrong.push(`it took ${ms.toFixed(0)} ms to end`);
      }
    },
  };
}

/** Resolves when all clients run, with a promise of their ends. */
async function beginLoad(
  deployment: Deployment,
  port: number,
  isSecure: boolean,
  tally: Tally,
  signal: AbortSignal,
): Promise<{ ended: Promise<unknown> }> {
  const api = createApi(port, tally, { isSecure, isCounted: false });
  const token = await registerDevice(api, deployment);
  api.close();
  const requests = [
    `GET /devices/current HTTP/1.1\r\nHost: a\r\nAuthorization: Service ${token}\r\n\r\n`,
    `POST /metrics/events/a HTTP/1.1\r\nHost: a\r\nAuthorization: Service ${token}\r\nContent-Length: 2\r\n\r\n{}`,
  ];
  const load = (count: number, run: (request: string) => Promise<void>) =>
    Array.from({ length: count }, (_, n) => run(requests[n % requests.length] ?? ""));
  const open = () => openRawClient(port, isSecure);
  const ended = Promise.all([
    ...load(clients.kept, (request) => sendOnKeptConnections(request, open, 0, tally, signal)),
    ...load(clients.idle, (request) => sendOnKeptConnections(request, open, 100, tally, signal)),
    ...load(clients.fresh, (request) => sendOnNewConnections(request, open, tally, signal)),
  ]);
  return { ended };
}

type Open = () => Promise<RawClient | Outcome>;

/** Sends requests over one connection until it closes, then over the next one, until the server announces its end. */
async function sendOnKeptConnections(
  request: string,
  open: Open,
  pauseMsMax: number,
  tally: Tally,
  signal: AbortSignal,
) {
  for (let isClosing = false; !isClosing && !signal.aborted; ) {
    const client = await open();
    if ("kind" in client) {
      note(client, tally);
      return;
    }
    while (client.isOpen && !signal.aborted) {
      isClosing = note(await client.ask(request), tally);
      if (pauseMsMax > 0) await sleep(Math.random() * pauseMsMax);
    }
    client.close();
  }
}

async function sendOnNewConnections(request: string, open: Open, tally: Tally, signal: AbortSignal) {
  for (let isClosing = false; !isClosing && !signal.aborted; ) {
    const client = await open();
    if ("kind" in client) {
      note(client, tally);
      return;
    }
    isClosing = note(await client.ask(request), tally);
    client.close();
    await sleep(2);
  }
}

/** @returns true when the server announces that it closes the connection */
function note(outcome: Outcome, tally: Tally): boolean {
  if (outcome.kind === "refused") return false; // the port is closed
  tally.sent += 1;
  if (outcome.kind !== "answer") {
    const [first, how] = [outcome.isFirst ? "first" : "later", outcome.kind];
    tally.wrong.push(`the ${first} request of a connection was not answered: ${how}`);
    return false;
  }
  const { status, isLast, text } = outcome;
  if (status === 503) {
    tally.unavailable += 1;
    if (!isLast) tally.wrong.push("a refusal without Connection: close");
    if (!text.includes('"error":"ServiceUnavailable"')) tally.wrong.push(`a malformed 503: ${text}`);
  } else if (status >= 300) tally.wrong.push(`${status} ${text}`);
  else tally.answered += 1;
  return status === 503;
}

function tlsSettings(): Readonly<Record<string, string>> {
  const folder = newFolder("certificates");
  const [cert, key] = ["cert", "key"].map((kind) => path.join(folder, `${kind}.pem`));
  if (cert === undefined || key === undefined) throw new Error("two certificate files are needed");
  copyFileSync(path.join(certificates, "test-only-a.cert.pem"), cert);
  copyFileSync(path.join(certificates, "test-only-a.key.pem"), key);
  return { TLS_CERT_FILE: cert, TLS_KEY_FILE: key };
}

export const shutdowns: readonly Scenario[] = [
  shutdown("SIGTERM"),
  shutdown("SIGTERM, https", { isSecure: true, settings: async () => tlsSettings() }),
  shutdown("SIGTERM, PostgreSQL", {
    settings: async () => ({ DATABASE_URL: await (await getSharedPostgres()).createDatabase() }),
  }),
  shutdown("SIGTERM, two workers", {
    findObstacle: () => (isSetting("WORKERS") ? undefined : "this version has no setting WORKERS"),
    settings: async () => ({ WORKERS: "2" }),
  }),
];

function isSetting(name: string): boolean {
  return settings.some((setting) => setting.name === name);
}

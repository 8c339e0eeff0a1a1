/// <reference lib="esnext.disposable" preserve="true" />
import path from "node:path";
import { memoryStore } from "./identity/memory-store.ts";
import type { Session } from "./identity/session.ts";
import type { RollcallOptions } from "./options.ts";
import { type Admin, createAdmin } from "./parts/admin/admin.ts";
import type { BreakableNetwork } from "./parts/testing/network.ts";
import { type AnsweredRequest, createRequestLog } from "./parts/testing/request-log.ts";
import { type Row, readRows } from "./parts/testing/rows.ts";
import { createRollcall, type Rollcall } from "./rollcall.ts";
import { ConfigurationError } from "./wire/errors.ts";

export type { AnswerDocument } from "./parts/testing/answer-judge.ts";
export { type AnswerCheck, type CheckAnswersOptions, checkAnswers } from "./parts/testing/check-answers.ts";
export { type BreakableNetwork, type BreakableNetworkOptions, breakableNetwork } from "./parts/testing/network.ts";
export { type Fault, type Rehearsal, rehearse } from "./parts/testing/rehearse.ts";
export type { AnsweredRequest } from "./parts/testing/request-log.ts";

export interface TestServerOptions {
  /** Settings of the application, such as `{ limits: { … } }`. */
  readonly settings?: Readonly<Record<string, unknown>>;
  /** Settings of the server, from its environment. */
  readonly env?: Readonly<Record<string, string>>;
}

export interface TestClientOptions extends Partial<RollcallOptions> {
  /** Instead of `fetch`. */
  readonly network?: BreakableNetwork;
}

/** A real server for a test, with an application that allows rehearsal. */
export interface TestServer extends AsyncDisposable {
  readonly url: string;
  readonly appid: string;
  readonly appkey: string;
  /** The folder of its data: `rollcall.db`, `files` and `mail`. */
  readonly dataDir: string;
  /** An operator client, signed in as the owner. */
  readonly admin: Admin;
  /** The last 1,000 requests that the server has answered, which appear shortly after their responses. */
  readonly requests: readonly AnsweredRequest[];
  /** A client with its own device, in memory unless the options name a store. */
  client(options?: TestClientOptions): Rollcall;
  /** Signs a user up on a new client. */
  user(userName: string, options?: TestClientOptions): Promise<TestUser>;
  /** The rows of a table. @throws ConfigurationError before Node.js 22.13, which has no `node:sqlite` */
  rows(table: string): Promise<Row[]>;
  /** Kills the process, like a crash. */
  kill(): Promise<void>;
  /** Starts the server again with the same data and address. */
  restart(): Promise<void>;
  /** Stops the process and deletes its data. */
  stop(): Promise<void>;
}

export interface TestUser {
  readonly client: Rollcall;
  readonly session: Session;
  readonly userName: string;
  readonly password: string;
}

/**
 * Starts a server on SQLite in a temporary folder, on a free port of this machine. It needs the package `rollcall`.
 *
 * @throws ConfigurationError if that is not installed
 * @throws Error with the output of the server when it does not start
 */
export async function createTestServer({ settings, env }: TestServerOptions = {}): Promise<TestServer> {
  const { startThrowaway } = await import("rollcall/testing").catch((cause) => {
    throw new ConfigurationError("createTestServer: install the package rollcall, the server.", { cause });
  });
  const log = createRequestLog();
  const server = await startThrowaway({ ...(settings && { settings }), ...(env && { env }), onLogLine: log.add });
  const { url, appid, appkey, dataDir, operator } = server;
  const admin = createAdmin({ url });
  await admin.signIn(operator);
  const clients: Rollcall[] = [];

  function client({ network, ...options }: TestClientOptions = {}): Rollcall {
    const own = { instance: crypto.randomUUID(), store: memoryStore(), ...(network && { fetch: network.fetch }) };
    const created = createRollcall({ url, appid, appkey, ...own, ...options });
    clients.push(created);
    return created;
  }

  async function stop(): Promise<void> {
    admin.close();
    await Promise.all(clients.map((each) => each.close()));
    await server.stop();
  }

  return {
    ...{ url, appid, appkey, dataDir, admin, client, stop },
    requests: log.requests,
    async user(userName, options) {
      const [created, password] = [client(options), crypto.randomUUID()];
      return { client: created, session: await created.signUp({ userName, password }), userName, password };
    },
    rows: (table) => readRows(path.join(dataDir, "rollcall.db"), table),
    kill: server.kill,
    restart: server.restart,
    [Symbol.asyncDispose]: stop,
  };
}

import { createHash } from "node:crypto";
import { setTimeout } from "node:timers/promises";
import { type FormPart, formHeaders, formOf } from "../testkit/forms.ts";
import { type Client, createPool, credentialsOf, type Operator } from "./actors.ts";
import type { Connection } from "./connection.ts";
import { writeRequest } from "./request.ts";

// biome-ignore lint/suspicious/noExplicitAny: seeding reads results of every shape, and fails on unexpected ones
export type Result = any;

/** Calls that must succeed, to create the world. */
export interface Seeder {
  call(
    caller: Client | Operator | undefined,
    operation: string,
    parameters?: object,
    headers?: Headers,
  ): Promise<Result>;
  upload(caller: Client, path: string, parts: readonly FormPart[]): Promise<Result>;
}

type Headers = Readonly<Record<string, string>>;

export function createSeeder(connection: Connection): Seeder {
  async function send(
    caller: Client | Operator | undefined,
    operation: string,
    headers: Headers,
    body: Buffer,
  ): Promise<Result> {
    const [method = "", target = ""] = operation.split(" ");
    const authorization =
      caller === undefined
        ? []
        : ([["Authorization", `Service ${credentialsOf(caller, method, target.split("?")[0] ?? "")}`]] as const);
    const bytes = writeRequest({ method, target, headers: [...authorization, ...Object.entries(headers)], body });
    let answer = await connection.send({ method, bytes });
    // Rate-limited calls are retried, because they must succeed.
    for (let waits = 0; waits < 10 && typeof answer !== "symbol" && answer.status === 429; waits += 1) {
      await setTimeout(1_000);
      answer = await connection.send({ method, bytes });
    }
    if (typeof answer === "symbol") throw new Error(`${operation}: ${String(answer)}`);
    if (answer.status >= 300) throw new SeedingError(operation, answer.status, answer.text);
    return answer.headers.get("content-type") === "application/json" ? JSON.parse(answer.text).result : answer.body;
  }

  return {
    call(caller, operation, parameters, headers = {}) {
      const body = parameters === undefined ? Buffer.alloc(0) : Buffer.from(JSON.stringify(parameters));
      return send(caller, operation, { "Content-Type": "application/json", ...headers }, body);
    },
    upload(caller, path, parts) {
      return send(caller, `POST ${path}`, formHeaders, formOf(parts));
    },
  };
}

/** A seeding call failed. */
export class SeedingError extends Error {
  constructor(operation: string, status: number, text: string) {
    super(`${operation} was answered ${status}: ${text.slice(0, 500)}`);
  }
}

export function digestOf(bytes: string | Buffer): string {
  return createHash("sha256").update(bytes).digest("hex");
}

/** A client that has created nothing yet. */
export function newClient(
  given: Pick<Client, "kind" | "name" | "application" | "token" | "deviceId"> & Partial<Client>,
): Client {
  return { userId: "", userName: "", password: "", email: "", isAlive: true, ...newPools(), ...given };
}

/** Returns a name that no other client has. */
export function newPools(): Pick<Client, "own" | "sealed" | "pageTokens" | "signedUrls"> {
  return { own: createPool(), sealed: createPool(), pageTokens: [], signedUrls: [] };
}

import { operatorDateMembers } from "../../../sdk/src/generated/operator-dates.ts";
import { decodeResult } from "../../../sdk/src/transport/decode.ts";
import type { AnyCall, Call } from "../../../sdk/src/wire/call.ts";
import type { Download } from "../../../sdk/src/wire/download.ts";
import { encodeParameters, encodeQuery } from "../../../sdk/src/wire/encode.ts";
import { CallError } from "../lib/call-error.ts";
import { noteChange } from "../lib/last-change.ts";

/** How long a call that changes something may take: its dialog stays open until then. */
const changeMsMax = 120_000;

export interface CallOptions {
  readonly signal?: AbortSignal;
  /** For calls that the console makes automatically: they do not keep the session alive. */
  readonly isPolling?: boolean;
  /** The version on which a change is based; the server refuses it with ObjectChanged if there is another version. */
  readonly version?: string;
}

/** A value that operators may change concurrently. */
export interface Versioned<Value> {
  readonly value: Value;
  readonly version: string | undefined;
}

/**
 * Sends a call with the cookie of the session. The client of the SDK has a token instead, and retries calls.
 *
 * @throws CallError if the server refuses the call or cannot be reached
 */
export async function send<T>(call: Call<T>, options?: CallOptions): Promise<T> {
  return readResult<T>(call, await request(call, options));
}

/** Sends a call whose answer has an entity tag. */
export async function sendVersioned<T>(call: Call<T>, options?: CallOptions): Promise<Versioned<T>> {
  const response = await request(call, options);
  return { value: await readResult<T>(call, response), version: versionOf(response) };
}

/** Loads a file. */
export async function download(call: Call<Download>, options?: CallOptions): Promise<Blob> {
  const response = await request(call, options);
  return response.ok ? response.blob() : readResult(call, response);
}

/** The address of a call. The API is at a path next to the console, below any prefix at which both are served. */
export function addressOf({ operation: { method }, path, parameters = {} }: AnyCall): string {
  const address = path.replace("/_/", "../");
  return hasBody(method) ? address : address + encodeQuery(encodeParameters(parameters));
}

let lastUseAt = Date.now();

/** When this page last used the session, in milliseconds; polling does not count as use. */
export function lastUse(): number {
  return lastUseAt;
}

const sessionEndings = new Set<() => void>();

/** Calls the listener when the server no longer accepts the session. */
export function onSessionEnd(listener: () => void): () => void {
  sessionEndings.add(listener);
  return () => sessionEndings.delete(listener);
}

async function request(call: AnyCall, { signal, isPolling = false, version }: CallOptions = {}): Promise<Response> {
  const { operation, path, parameters = {} } = call;
  const { method } = operation;
  const response = await fetch(addressOf(call), {
    method,
    // A null stays, because it unsets a setting.
    ...(hasBody(method) && { body: JSON.stringify(parameters) }),
    signal: signal ?? (method === "GET" ? undefined : AbortSignal.timeout(changeMsMax)),
    credentials: "same-origin",
    headers: {
      "X-Rollcall-Console": isPolling ? "poll" : "1",
      ...(hasBody(method) && { "Content-Type": "application/json" }),
      ...(version !== undefined && { "If-Match": version }),
    },
  }).catch((error: unknown) => {
    if (signal?.aborted === true) throw error;
    throw new CallError(0, { error: "Unreachable", message: "The server cannot be reached." });
  });
  if (!isPolling && response.status !== 401) lastUseAt = Date.now();
  if (response.status === 401 && !path.startsWith("/_/api/sessions")) for (const listener of sessionEndings) listener();
  return response;
}

function hasBody(method: string): boolean {
  return method !== "GET" && method !== "DELETE";
}

async function readResult<T>({ operation: { method } }: AnyCall, response: Response): Promise<T> {
  const answer: unknown = await response.json().catch(() => undefined);
  if (isSuccess(answer)) {
    if (method !== "GET") noteChange(answer.request_id);
    return decodeResult(answer.result, operatorDateMembers) as T; // the type of the generated call
  }
  const details = typeof answer === "object" && answer !== null ? { ...answer } : noEnvelope(response.status);
  throw new CallError(response.status, { ...details, version: versionOf(response) });
}

function versionOf(response: Response): string | undefined {
  return response.headers.get("etag") ?? undefined;
}

function isSuccess(answer: unknown): answer is { success: true; result: unknown; request_id?: string } {
  return typeof answer === "object" && answer !== null && "success" in answer && answer.success === true;
}

function noEnvelope(status: number): Record<string, unknown> {
  return { error: "UnreadableAnswer", message: `The answer is not one of Rollcall (status ${status}).` };
}

/** A name of an answer as one of the names in the document: the server of the answer also serves the console. */
export function known<Name extends string>(name: Name | (string & {})): Name {
  return name as Name;
}

/** The filters of a listing in the address of a page. */
export type Filters<Query> = {
  readonly [Name in Exclude<keyof Query, "pageSize" | "pagingToken" | "cursor" | "before">]?: string;
};

/** The filters of a page's address as those of a call. The server checks their format. */
export function queryOf<Query extends object>(
  filters: {
    readonly [Name in keyof Query]?: Query[Name] | string;
  },
): Query {
  return filters as Query;
}

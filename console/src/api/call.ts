import { CallError } from "../lib/call-error.ts";
import { noteChange } from "../lib/last-change.ts";

/** The API is at a path next to the console, below any prefix at which both are served. */
const base = "../api";

/** When a call that changes something is given up: its dialog stays until then. */
const changeMsMax = 120_000;

type Method = "GET" | "POST" | "PUT" | "PATCH" | "DELETE";

export interface CallOptions {
  readonly signal?: AbortSignal;
  /** For calls that the console makes automatically: they do not keep the session alive. */
  readonly isPolling?: boolean;
  /** The version on which the change is based; the server refuses it with ObjectChanged if there is another version. */
  readonly version?: string;
}

/** A value that operators may change concurrently. */
export interface Versioned<Value> {
  readonly value: Value;
  readonly version: string | undefined;
}

/** An operation of the API. A test of the server compares method, path and parameters with the OpenAPI document. */
export interface Operation<Parameters extends object, Result> {
  (parameters: Parameters, options?: CallOptions): Promise<Result>;
  readonly method: Method;
  /** As in the OpenAPI document, without `/_/api`. */
  readonly path: string;
  readonly parameters: readonly string[];
}

/** @param names the parameters, including path parameters */
export function operation<Parameters extends object, Result>(
  method: Method,
  path: string,
  names: readonly (keyof Parameters & string)[],
): Operation<Parameters, Result> {
  return createOperation(method, path, names, readResult<Result>);
}

/** An operation whose answer has an entity tag. */
export function versionedOperation<Parameters extends object, Result>(
  method: Method,
  path: string,
  names: readonly (keyof Parameters & string)[],
): Operation<Parameters, Versioned<Result>> {
  return createOperation(method, path, names, async (response, onSuccess) => ({
    value: await readResult<Result>(response, onSuccess),
    version: versionOf(response),
  }));
}

interface DownloadOperation<Parameters extends object> extends Operation<Parameters, Blob> {
  /** The address from which the browser can download the file itself. */
  addressOf(parameters: Parameters): string;
}

/** An operation that returns a file. */
export function downloadOperation<Parameters extends object>(
  path: string,
  names: readonly (keyof Parameters & string)[],
): DownloadOperation<Parameters> {
  const addressOf = (parameters: Parameters) => base + fillPath("GET", path, parameters).url;
  return Object.assign(createOperation("GET", path, names, readFile), { addressOf });
}

/** Receives the `request_id` of a call that the server has performed. */
type OnSuccess = (requestId: string | undefined) => void;

/** @param read throws `CallError` if the answer is a refusal */
function createOperation<Parameters extends object, Result>(
  method: Method,
  path: string,
  names: readonly (keyof Parameters & string)[],
  read: (response: Response, onSuccess?: OnSuccess) => Promise<Result>,
): Operation<Parameters, Result> {
  async function run(parameters: Parameters, options: CallOptions = {}): Promise<Result> {
    const { url, body } = fillPath(method, path, parameters);
    const response = await fetchFrom(method, url, body, options);
    if (options.isPolling !== true && response.status !== 401) lastUseAt = Date.now();
    if (response.status === 401 && !path.startsWith("/sessions")) for (const listener of sessionEndings) listener();
    return read(response, method === "GET" ? undefined : noteChange);
  }
  return Object.assign(run, { method, path, parameters: names });
}

/** The address of a call, and the body with the parameters that are not in it. */
function fillPath(method: Method, path: string, parameters: object): { url: string; body: string | undefined } {
  const given = new Map(Object.entries(parameters).filter(([, value]) => value !== undefined));
  const filled = path.replaceAll(/\{(\w+)\}/g, (_, name) => {
    const value = given.get(name);
    given.delete(name);
    return encodeURIComponent(String(value));
  });
  if (method !== "GET" && method !== "DELETE") return { url: filled, body: JSON.stringify(Object.fromEntries(given)) };
  const query = new URLSearchParams([...given].map(([name, value]) => [name, String(value)]));
  return { url: query.size > 0 ? `${filled}?${query}` : filled, body: undefined };
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

async function readResult<Result>(response: Response, onSuccess?: OnSuccess): Promise<Result> {
  const answer: unknown = await response.json().catch(() => undefined);
  if (isSuccess<Result>(answer)) {
    onSuccess?.(answer.request_id);
    return answer.result;
  }
  const details = typeof answer === "object" && answer !== null ? { ...answer } : noEnvelope(response.status);
  throw new CallError(response.status, { ...details, version: versionOf(response) });
}

function versionOf(response: Response): string | undefined {
  return response.headers.get("etag") ?? undefined;
}

function readFile(response: Response): Promise<Blob> {
  return response.ok ? response.blob() : readResult<never>(response);
}

async function fetchFrom(
  method: Method,
  url: string,
  body: string | undefined,
  options: CallOptions,
): Promise<Response> {
  try {
    return await fetch(base + url, {
      method,
      body,
      signal: options.signal ?? (method === "GET" ? undefined : AbortSignal.timeout(changeMsMax)),
      credentials: "same-origin",
      headers: {
        "X-Rollcall-Console": options.isPolling === true ? "poll" : "1",
        ...(body !== undefined && { "Content-Type": "application/json" }),
        ...(options.version !== undefined && { "If-Match": options.version }),
      },
    });
  } catch (error) {
    if (options.signal?.aborted === true) throw error;
    throw new CallError(0, { error: "Unreachable", message: "The server cannot be reached." });
  }
}

function isSuccess<Result>(answer: unknown): answer is { success: true; result: Result; request_id?: string } {
  return typeof answer === "object" && answer !== null && "success" in answer && answer.success === true;
}

function noEnvelope(status: number): Record<string, unknown> {
  return { error: "UnreadableAnswer", message: `The answer is not one of Rollcall (status ${status}).` };
}

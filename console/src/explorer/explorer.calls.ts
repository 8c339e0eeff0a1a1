import { createTestDevice, createTestUser, type TestCaller } from "../api/admin.ts";
import { send } from "../api/send.ts";
import { serviceRoot } from "../lib/service-root.ts";

export type TestCallerKind = "device" | "user";

interface Held {
  readonly caller: TestCaller;
  readonly until: number;
}

/** In memory only. Shared by all visits in this tab, because a new caller would revoke an older one. */
const held = new Map<string, Held>();
const usedMs = 55 * 60_000; // its token lives for an hour

/** A device or user to try calls with. */
export async function getTestCaller(appid: string, kind: TestCallerKind): Promise<TestCaller> {
  const key = `${appid} ${kind}`;
  const known = held.get(key);
  if (known !== undefined && known.until > Date.now()) return known.caller;
  const caller = await send(kind === "device" ? createTestDevice(appid) : createTestUser(appid));
  held.set(key, { caller, until: Date.now() + usedMs });
  return caller;
}

/** Forgets a caller whose token the server has refused. */
export function forgetTestCaller(appid: string, kind: TestCallerKind): void {
  held.delete(`${appid} ${kind}`);
}

/** A call of the API of apps. */
export interface AppCall {
  readonly method: string;
  /** With its query. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | FormData | undefined;
}

export interface AppAnswer {
  /** 0 if the connection closed without a response. */
  readonly status: number;
  readonly ms: number;
  readonly headers: readonly (readonly [name: string, value: string])[];
  readonly text: string;
  readonly requestId: string | undefined;
}

/** Sends a call as an app does: without the session of the operator. */
export async function sendAppCall({ method, path, headers, body }: AppCall): Promise<AppAnswer> {
  const startedAt = performance.now();
  const took = () => Math.round(performance.now() - startedAt);
  try {
    const response = await fetch(serviceRoot() + path, {
      method,
      headers,
      body,
      credentials: "omit",
      cache: "no-store",
    });
    const text = await readText(response);
    const requestId = /"request_id":"([^"]+)"/.exec(text)?.[1];
    return { status: response.status, ms: took(), headers: [...response.headers], text, requestId };
  } catch (error) {
    const text = error instanceof Error ? error.message : String(error);
    return { status: 0, ms: took(), headers: [], text, requestId: undefined };
  }
}

/** The body of a response, or a description of a file. */
async function readText(response: Response): Promise<string> {
  const type = response.headers.get("content-type") ?? "";
  if (type.startsWith("text/event-stream")) return readStart(response);
  if (/json|text/.test(type)) return response.text();
  const { size } = await response.blob();
  return size === 0 ? "" : `${size} bytes of ${type}`;
}

const streamMs = 2000;

/** An event stream stays open, so only its first bytes are shown. */
async function readStart({ body }: Response): Promise<string> {
  if (body === null) return "";
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  const timer = setTimeout(() => void reader.cancel(), streamMs);
  let text = "";
  for (let read = await reader.read(); !read.done; read = await reader.read()) text += read.value;
  clearTimeout(timer);
  return text;
}

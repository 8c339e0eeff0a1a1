import { type Agent, type ClientRequest, type IncomingHttpHeaders, request as requestHttp } from "node:http";
import { request as requestHttps } from "node:https";
import { setTimeout as startTimer } from "node:timers";

/** A response, with its body as bytes, as text, and parsed if it is JSON. */
export interface Answer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly bytes: Buffer;
  readonly text: string;
  // biome-ignore lint/suspicious/noExplicitAny: tests read bodies of every shape, and assert their content
  readonly body: any;
}

export interface CallOptions {
  /** Sent as `Authorization: Service <token>`. */
  readonly token?: string | undefined;
  /** Sent as JSON; a string or a Buffer is sent unchanged. */
  readonly body?: unknown;
  /** Added to the others; undefined removes a header, an array repeats it. */
  readonly headers?: Readonly<Record<string, string | string[] | undefined>> | undefined;
  /** Without an agent, each call opens a connection. */
  readonly agent?: Agent;
  /** The longest time without a byte of the response; without a limit by default. */
  readonly timeoutMs?: number;
}

/** Where a server listens; on 127.0.0.1 by default. */
export interface Origin {
  readonly port: number;
  readonly host?: string;
  readonly isSecure?: boolean;
  /** Before the path of each request. */
  readonly basePath?: string;
}

/** Sends one request, and returns the response when it is complete. */
export function send(origin: Origin, method: string, path: string, options: CallOptions = {}): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const { timeoutMs } = options;
    const outgoing = begin(origin, method, path, options);
    const fail = (error: Error) => {
      clearTimeout(timer);
      reject(error);
    };
    // First, because a response that has begun ends as "aborted".
    const late = () => {
      fail(new Error(`no answer within ${timeoutMs} ms`));
      outgoing.destroy();
    };
    let timer: NodeJS.Timeout | undefined;
    // Not while an agent has no free connection.
    if (timeoutMs !== undefined) {
      outgoing.once("socket", () => {
        timer = startTimer(late, timeoutMs);
      });
    }
    outgoing.on("error", fail).on("response", (incoming) => {
      // The server may answer before the request is complete; errors of the rest do not matter.
      outgoing.removeListener("error", fail).on("error", () => {});
      const chunks: Buffer[] = [];
      incoming.on("data", (chunk: Buffer) => {
        chunks.push(chunk);
        timer?.refresh();
      });
      incoming.on("error", fail).on("end", () => {
        clearTimeout(timer);
        const { statusCode: status = 0, headers } = incoming;
        resolve({ status, headers, ...contentOf(Buffer.concat(chunks), headers) });
      });
    });
  });
}

/** Sends one request; the caller reads the response. */
export function begin(
  { port, host = "127.0.0.1", isSecure = false, basePath = "" }: Origin,
  method: string,
  path: string,
  { token, body, headers, agent }: CallOptions,
): ClientRequest {
  const isRaw = body === undefined || typeof body === "string" || Buffer.isBuffer(body);
  const payload = isRaw ? body : JSON.stringify(body);
  const all = {
    ...(payload !== undefined && {
      "Content-Type": "application/json",
      "Content-Length": `${Buffer.byteLength(payload)}`,
    }),
    ...(token !== undefined && { Authorization: `Service ${token}` }),
  };
  const outgoing = (isSecure ? requestHttps : requestHttp)({
    ...{ host, port, method, path: `${basePath}${path}`, headers: merge(all, headers), agent: agent ?? false },
  });
  outgoing.end(payload);
  return outgoing;
}

/** Names of headers are case-insensitive. */
export function merge(
  headers: Readonly<Record<string, string>>,
  given: CallOptions["headers"] = {},
): Record<string, string | string[]> {
  const replaced = new Set(Object.keys(given).map((name) => name.toLowerCase()));
  const kept = Object.entries(headers).filter(([name]) => !replaced.has(name.toLowerCase()));
  const isSent = (entry: [string, string | string[] | undefined]): entry is [string, string | string[]] =>
    entry[1] !== undefined;
  return Object.fromEntries([...kept, ...Object.entries(given).filter(isSent)]);
}

/** A body as bytes, as text, and parsed if it is JSON. */
export function contentOf(bytes: Buffer, headers: IncomingHttpHeaders): Pick<Answer, "bytes" | "text" | "body"> {
  const text = bytes.toString("utf8");
  const isJson = headers["content-type"]?.startsWith("application/json") === true;
  return { bytes, text, body: isJson ? parseJson(text) : undefined };
}

/** The parsed JSON, or undefined when the text is invalid. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from "node:http";
import { finished, type Readable } from "node:stream";
import type { AnyCaller } from "../contract/route.ts";
import type { CurrentCall } from "../lib/current-call.ts";
import type { ApiError } from "../lib/errors.ts";
import { jsonContentType, newRequestId, type Reply, replyBody } from "../operations/envelope.ts";
import type { Quota } from "../operations/rate-limits.ts";
import type { HeldBody } from "./body.ts";
import type { RequestTrace } from "./request-observer.ts";

type HeaderValue = string | number;

/** One request and its response. */
export class Exchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly id = newRequestId();
  readonly #startedAt = performance.now();
  /** The name of the route in the log; undefined for an unknown path or verb. */
  route: string | undefined;
  /** The path parameters, unescaped, by their names in the declared path. */
  path: Readonly<Record<string, string>> = {};
  /** The query, as sent. */
  query = "";
  /** The IP address of the client; the address of the socket may be a proxy's. */
  address = "";
  caller: AnyCaller | undefined;
  /** Whether the request had a valid signature. */
  isSigned = false;
  /** The application of a call without a caller. */
  applicationId: string | undefined;
  /** The operation name, set when the request reaches its route. */
  operation: string | undefined;
  /** Undefined when neither traces, slow queries nor links need it. */
  call: CurrentCall | undefined;
  trace: RequestTrace | undefined;
  /** The body, set when it has been read; an error when it was refused. */
  body: Buffer | HeldBody | ApiError | undefined;
  /** The refusal and its reason, for the log. */
  failure: ApiError | undefined;
  /** The failure that the client rehearsed, for the log. */
  rehearsed: string | undefined;
  /** Whether the request arrived during the shutdown. */
  isLate = false;
  /** Whether the head of a stream has been sent. */
  isStreaming = false;
  /** Whether the request has been logged. */
  isFinished = false;
  readonly #headers: Record<string, HeaderValue> = {};

  constructor(request: IncomingMessage, response: ServerResponse) {
    this.request = request;
    this.response = response;
  }

  get method(): string {
    return this.request.method ?? "";
  }

  get url(): string {
    return this.request.url ?? "";
  }

  get headers(): IncomingHttpHeaders {
    return this.request.headers;
  }

  /** The time since the request arrived. */
  elapsedMs(): number {
    return performance.now() - this.#startedAt;
  }

  hasBody(): boolean {
    const { headers } = this.request;
    return headers["transfer-encoding"] !== undefined || Number(headers["content-length"] ?? 0) > 0;
  }

  /** Sets the operation name, also of the current call. */
  setOperation(operation: string | undefined): void {
    this.operation = operation;
    if (this.call !== undefined) this.call.operation = operation;
  }

  /** Sets a header of the response, replacing an earlier value. */
  setHeader(name: string, value: HeaderValue): void {
    this.#headers[name.toLowerCase()] = value;
  }

  setHeaders(headers: Readonly<Record<string, HeaderValue>>): void {
    for (const [name, value] of Object.entries(headers)) this.setHeader(name, value);
  }

  removeHeader(name: string): void {
    delete this.#headers[name];
  }

  /** Sends the head of a response; the caller writes the body. */
  writeHead(status: number): void {
    this.response.writeHead(status, this.#headers);
  }

  /** Sends the response. */
  send(status: number, body?: string | Buffer): void {
    const bytes = body === undefined ? 0 : Buffer.byteLength(body);
    if (body !== undefined || (this.method !== "HEAD" && status !== 204 && status !== 304)) {
      this.#headers["content-length"] = bytes;
    }
    // With "utf8", Node.js would allocate three bytes per character, even for ASCII.
    this.response.writeHead(status, this.#headers);
    this.response.end(body, bytes === body?.length ? "latin1" : "utf8");
  }

  /**
   * Sends a stream until it finishes or the client disconnects. If the stream fails after its first byte, the
   * connection is cut, so that the client does not take the response for complete.
   *
   * @throws the error of a stream that fails before its first byte, when another response can still be sent
   */
  async stream(status: number, body: Readable): Promise<void> {
    const { response } = this;
    response.statusCode = status;
    for (const [name, value] of Object.entries(this.#headers)) response.setHeader(name, value);
    await new Promise<void>((resolve, reject) => {
      finished(response, () => {
        resolve();
        body.destroy();
      });
      finished(body, { writable: false }, (error) => {
        if (!error) return;
        if (response.headersSent || response.destroyed) response.destroy();
        else reject(error);
      });
      body.pipe(response);
    });
  }
}

export function sendReply(exchange: Exchange, reply: Reply): void {
  const retryAfterSeconds = reply.failure?.retryAfterSeconds;
  if (retryAfterSeconds !== undefined) exchange.setHeader("retry-after", retryAfterSeconds);
  if (reply.quota !== undefined) setQuota(exchange, reply.quota);
  if (reply.isReplayed) exchange.setHeader("idempotent-replayed", "true");
  exchange.setHeader("content-type", jsonContentType);
  // No cache may store envelopes: many contain tokens, and none has a defined lifetime.
  exchange.setHeader("cache-control", "no-store");
  exchange.send(reply.status, replyBody(reply, exchange.id));
}

/**
 * Sets the headers of draft-ietf-httpapi-ratelimit-headers: the size of a bucket, its remaining tokens, and the time
 * until it is full.
 */
export function setQuota(exchange: Exchange, { name, limit, left, fullInSeconds }: Quota): void {
  const { perSecond, burst } = limit;
  exchange.setHeader("ratelimit-policy", `"${name}";q=${Math.floor(burst)};w=${Math.ceil(burst / perSecond)}`);
  exchange.setHeader("ratelimit", `"${name}";r=${left};t=${fullInSeconds}`);
}

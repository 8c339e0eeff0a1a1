import type { IncomingMessage, ServerResponse } from "node:http";
import { type Browser, browserOf } from "../contract/browser.ts";
import type { Call, RawParameters, ReceivedUpload, StoredUpload, UploadedPart } from "../contract/call.ts";
import { CallWork } from "../lib/call-work.ts";
import { ApiError } from "../lib/errors.ts";
import { parseBody, parseQuery } from "../operations/body-parameters.ts";
import { HeldBody } from "./body.ts";
import type { Exchange } from "./exchange.ts";
import type { BuiltReply, InFlight } from "./in-flight.ts";
import { receiveUpload, type UploadLimits } from "./upload.ts";

export interface HttpCallServices {
  readonly limits: UploadLimits;
  readonly inFlight: InFlight;
  /** Whether the client sent a request over TLS. */
  isSecure(request: IncomingMessage): boolean;
}

const rehearseHeader = "rollcall-rehearse";

/** A call that is a request of its own. A class, because most calls use none of its methods. */
export class HttpCall implements Call {
  readonly requestId: string;
  readonly authorization: string | undefined;
  readonly address: string;
  readonly idempotencyKey: unknown;
  readonly path: Readonly<Record<string, unknown>>;
  readonly unread: string[] = [];
  readonly work: CallWork;
  /** The reply that an operation has reserved memory for. */
  built: BuiltReply | undefined;
  // Not #private, because `callWith` creates objects that inherit from this one.
  private readonly exchange: Exchange;
  private readonly services: HttpCallServices;
  private gone: AbortSignal | undefined;

  constructor(exchange: Exchange, services: HttpCallServices) {
    this.exchange = exchange;
    this.services = services;
    this.requestId = exchange.id;
    this.authorization = exchange.headers.authorization;
    this.address = exchange.address;
    this.idempotencyKey = exchange.headers["idempotency-key"];
    this.path = exchange.path;
    this.work = new CallWork(() => exchange.response.destroyed);
  }

  get ifMatch(): string | undefined {
    return this.exchange.headers["if-match"];
  }

  get lastEventId(): string | undefined {
    return this.exchange.headers["last-event-id"]?.toString();
  }

  get rehearse(): string | undefined {
    return this.exchange.headers[rehearseHeader]?.toString();
  }

  forgetAddress(): void {
    this.exchange.address = "";
  }

  countFor(applicationId: string): void {
    this.exchange.applicationId = applicationId;
  }

  whenGone(): AbortSignal {
    this.gone ??= abortOnClose(this.exchange.response);
    return this.gone;
  }

  setHeader(name: string, value: string): void {
    this.exchange.setHeader(name, value);
  }

  browser(): Browser {
    const { request, response } = this.exchange;
    return browserOf(request, response, this.services.isSecure(request));
  }

  reserve(kind: string, rows: number): Promise<void> | undefined {
    this.built ??= this.services.inFlight.beginReply(this.exchange);
    return this.built.reserve(kind, rows);
  }

  readParameters(): RawParameters {
    const { method, query, body, headers } = this.exchange;
    if (body instanceof ApiError) throw body; // `readBody` resolves with errors
    if (method === "GET" || method === "HEAD") return parseQuery(query);
    const bytes = body instanceof HeldBody ? body.bytes : body;
    const parameters = bytes === undefined ? [] : parseBody(bytes, headers["content-type"]);
    if (query !== "" && method !== "DELETE") for (const [name] of parseQuery(query)) this.unread.push(name);
    return method === "DELETE" ? [...parseQuery(query), ...parameters] : parameters;
  }

  receive<File extends StoredUpload>(store: (part: UploadedPart) => Promise<File>): Promise<ReceivedUpload<File>> {
    const { exchange, services } = this;
    const begin = () => services.inFlight.beginUpload(exchange);
    return receiveUpload(exchange.request, exchange.headers["content-type"], { ...services.limits, begin }, store);
  }
}

function abortOnClose(response: ServerResponse): AbortSignal {
  const gone = new AbortController();
  if (response.destroyed) gone.abort();
  else response.once("close", () => gone.abort());
  return gone.signal;
}

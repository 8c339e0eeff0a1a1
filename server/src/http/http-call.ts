import type { IncomingMessage, ServerResponse } from "node:http";
import type { FastifyReply, FastifyRequest } from "fastify";
import { ApiError } from "../errors.ts";
import { CallWork } from "../lib/call-work.ts";
import { HeldBody, parseBody, parseQuery } from "./body.ts";
import { type Browser, browserOf } from "./browser.ts";
import type { Call, RawParameters, ReceivedUpload, StoredUpload, UploadedPart } from "./call.ts";
import type { BuiltReply, InFlight } from "./in-flight.ts";
import { receiveUpload, type UploadLimits } from "./upload.ts";

export interface HttpCallServices {
  readonly limits: UploadLimits;
  readonly inFlight: InFlight;
  /** Whether the client sent a request over TLS. */
  isSecure(request: IncomingMessage): boolean;
}

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
  private readonly request: FastifyRequest;
  private readonly reply: FastifyReply;
  private readonly services: HttpCallServices;
  private gone: AbortSignal | undefined;

  constructor(request: FastifyRequest, reply: FastifyReply, services: HttpCallServices) {
    this.request = request;
    this.reply = reply;
    this.services = services;
    this.requestId = request.id;
    this.authorization = request.headers.authorization;
    this.address = request.address;
    this.idempotencyKey = request.headers["idempotency-key"];
    this.path = request.params as Record<string, unknown>; // the router's, by the names in the path
    this.work = new CallWork(() => reply.raw.destroyed);
  }

  forgetAddress(): void {
    this.request.address = "";
  }

  whenGone(): AbortSignal {
    this.gone ??= abortOnClose(this.reply.raw);
    return this.gone;
  }

  setHeader(name: string, value: string): void {
    this.reply.header(name, value);
  }

  browser(): Browser {
    return browserOf(this.request.raw, this.reply.raw, this.services.isSecure(this.request.raw));
  }

  reserve(kind: string, rows: number): Promise<void> | undefined {
    this.built ??= this.services.inFlight.beginReply(this.request, this.reply);
    return this.built.reserve(kind, rows);
  }

  readParameters(): RawParameters {
    const { request } = this;
    if (request.body instanceof ApiError) throw request.body; // `readBody` resolves with errors
    const bytes = request.body instanceof HeldBody ? request.body.bytes : request.body;
    const body = bytes instanceof Buffer ? parseBody(bytes, request.contentType) : [];
    if (request.method === "DELETE") return [...queryOf(request), ...body];
    return request.method === "GET" || request.method === "HEAD" ? queryOf(request) : body;
  }

  receive<File extends StoredUpload>(store: (part: UploadedPart) => Promise<File>): Promise<ReceivedUpload<File>> {
    const { request, services } = this;
    const begin = () => services.inFlight.beginUpload(request);
    return receiveUpload(request.raw, request.contentType, { ...services.limits, begin }, store);
  }
}

/** The router accepts only an object as its parsed query. */
export function keepQuery(query: string): { readonly text: string } {
  return { text: query };
}

export function queryOf(request: FastifyRequest): RawParameters {
  return parseQuery((request.query as ReturnType<typeof keepQuery>).text); // the result of `keepQuery`
}

function abortOnClose(response: ServerResponse): AbortSignal {
  const gone = new AbortController();
  if (response.destroyed) gone.abort();
  else response.once("close", () => gone.abort());
  return gone.signal;
}

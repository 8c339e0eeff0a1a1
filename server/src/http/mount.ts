import type { IncomingMessage, ServerResponse } from "node:http";
import { type Browser, browserOf } from "../contract/browser.ts";
import type { Call, RawParameters, ReceivedUpload, StoredUpload, UploadedPart } from "../contract/call.ts";
import { ArchiveResult } from "../contract/file-result.ts";
import { type AnyCaller, type CallerKind, isForOperators, type Route } from "../contract/route.ts";
import { CallWork } from "../lib/call-work.ts";
import { ApiError, type ErrorCondition } from "../lib/errors.ts";
import { acceptedLanguage } from "../lib/languages.ts";
import { waitForStep } from "../limits/call-steps.ts";
import { parseBody, parseQuery } from "../operations/body-parameters.ts";
import { shownReply } from "../operations/envelope.ts";
import { ignoredHeader, ignoredHeaderOf } from "../operations/ignored.ts";
import type { Authenticate, BoundOperation } from "../operations/perform.ts";
import { rehearsedHeader } from "../operations/rehearsals.ts";
import { readSignature, requireSignature } from "../operations/signatures.ts";
import { HeldBody } from "./body.ts";
import { setOrigin } from "./cors.ts";
import { type Exchange, sendReply, setQuota } from "./exchange.ts";
import { type BuiltReply, type InFlight, smallReplyBytes } from "./in-flight.ts";
import { pathOf } from "./request-log.ts";
import type { RouteTable } from "./route-table.ts";
import { sendFault } from "./send-fault.ts";
import { sendArchive, sendFile } from "./send-file.ts";
import { sendStream } from "./send-stream.ts";
import { receiveUpload, type UploadLimits } from "./upload.ts";

interface HttpCallServices {
  readonly limits: UploadLimits;
  readonly inFlight: InFlight;
  /** Whether the client sent the request over TLS. */
  isSecure(request: IncomingMessage): boolean;
}

const rehearseHeader = "rollcall-rehearse";

/** A call that is an HTTP request, not an item of a batch. A class, because most calls use none of its methods. */
class HttpCall implements Call {
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
    this.work = new CallWork(waitForStep, () => exchange.response.destroyed);
  }

  get ifMatch(): string | undefined {
    return this.exchange.headers["if-match"];
  }

  get lastEventId(): string | undefined {
    return this.exchange.headers["last-event-id"]?.toString();
  }

  get language(): string | undefined {
    return acceptedLanguage(this.exchange.headers["accept-language"]);
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

export interface MountOptions extends HttpCallServices {
  readonly authenticate: Authenticate;
  /** The scheme of the Authorization header. */
  readonly scheme: string;
  /** Resolves when a write of an application may be answered; undefined if it need not wait. */
  delayWrite(applicationId: string): Promise<void> | undefined;
}

/** The memory of a file while it is sent. */
const fileBufferBytes = 65_536;

/** Adds one operation, which authenticates the caller before it reads the body and the parameters. */
export function mountOperation(routes: RouteTable, operation: BoundOperation, services: MountOptions): void {
  const { authenticate, inFlight, scheme, isSecure, delayWrite } = services;
  const { route } = operation;
  const isDownload = route.method === "GET" && route.result["x-media-type"] !== undefined;
  const { caller: required } = route;

  function accept(exchange: Exchange): void | Promise<void> {
    exchange.setOperation(route.operation);
    if (required === "anyone") return undefined;
    if (required === "operator") return acceptOperator(exchange);
    const ticket = ticketOf(exchange, route);
    if (ticket !== undefined) return acceptTicket(exchange, ticket);
    if (route.download === undefined || exchange.query === "") return acceptCaller(exchange, required, authenticate);
    // Clients that cannot send headers, such as media players and `<img>`, put the token or the signature into the
    // query.
    const given = new Map(Array.from(parseQuery(exchange.query), ([name, value]) => [name.toLowerCase(), value]));
    if (given.has("signature")) return undefined; // the operation checks it
    const token = given.get("accesstoken");
    if (typeof token !== "string" || exchange.headers.authorization !== undefined) {
      return acceptCaller(exchange, required, authenticate);
    }
    return acceptCaller(exchange, required, authenticate, `${scheme} ${token}`);
  }

  async function acceptTicket(exchange: Exchange, ticket: string): Promise<void> {
    exchange.caller = await route.ticket?.open(ticket);
    setOrigin(exchange);
  }

  async function acceptOperator(exchange: Exchange): Promise<void> {
    const { headers, request, response } = exchange;
    const browser = browserOf(request, response, isSecure(request));
    if (isDownload) exchange.setHeader("cross-origin-resource-policy", "same-origin");
    exchange.caller = await authenticate(headers.authorization, "operator", { browser, isDownload });
  }

  async function answer(exchange: Exchange): Promise<void> {
    const call = new HttpCall(exchange, services);
    const { caller } = exchange;
    const answered = shownReply(await operation.perform(call, caller));
    const applicationId =
      caller !== undefined && "applicationId" in caller ? caller.applicationId : exchange.applicationId;
    if (route.method !== "GET" && applicationId !== undefined) {
      const delay = delayWrite(applicationId);
      if (delay !== undefined) await delay;
    }
    exchange.failure = answered.failure;
    if (answered.failure !== undefined && answerBusy(exchange, answered.failure)) return;
    if (answered.rehearsed !== undefined) exchange.setHeader(rehearsedHeader, answered.rehearsed.what);
    exchange.rehearsed = answered.rehearsed?.what;
    const ignored = call.unread.length === 0 ? [] : operation.ignoredNames(call.unread);
    if (ignored.length > 0) exchange.setHeader(ignoredHeader, ignoredHeaderOf(ignored));
    if (answered.rehearsed?.fault !== undefined) return sendFault(exchange, answered, answered.rehearsed.fault);
    if (answered.file !== undefined) {
      // Lets pages with a Cross-Origin-Embedder-Policy show files, which need a token or a signature anyway.
      if (!isForOperators(route)) exchange.setHeader("cross-origin-resource-policy", "cross-origin");
      if (answered.quota !== undefined) setQuota(exchange, answered.quota);
      if (answered.file instanceof ArchiveResult) {
        inFlight.beginArchive(exchange);
        await sendArchive(exchange, answered.file);
      } else {
        await sendFile(exchange, answered.file, () => inFlight.holdReply(exchange, fileBufferBytes, true));
      }
      return;
    }
    if (answered.stream !== undefined) {
      if (answered.quota !== undefined) setQuota(exchange, answered.quota);
      sendStream(exchange, answered.stream);
      return;
    }
    const { length } = answered.content;
    // A read can be refused, because the client can repeat it. A completed change must be reported.
    const isHeld = answered.isSuccess && (call.built?.isBuilt(length) ?? false);
    if (!isHeld && length > smallReplyBytes) inFlight.holdReply(exchange, length, route.method === "GET");
    sendReply(exchange, answered);
  }

  function answerBusy(exchange: Exchange, { condition }: ApiError): boolean {
    if (route.ticket === undefined || ticketOf(exchange, route) === undefined || !temporaryConditions.has(condition))
      return false;
    const { headers, body } = route.ticket.busy();
    exchange.setHeaders(headers);
    exchange.send(200, body);
    return true;
  }

  routes.add(route.method === "GET" ? ["GET", "HEAD"] : [route.method], route.path, {
    name: route.operation,
    operation,
    readsBody: route.upload !== undefined,
    allowsPlainHttp: route.allowsPlainHttp ?? false,
    isForOperators: isForOperators(route),
    isUnlimited: route.allowsPlainHttp ?? false,
    accept,
    answer,
    ...(route.ticket && { refuse: answerBusy }),
  });
}

/** Failures after which the client may try again. */
const temporaryConditions: ReadonlySet<ErrorCondition> = new Set(["RateLimitExceeded", "ServiceUnavailable"]);

/** Returns the ticket of a request for a stream. */
function ticketOf({ query }: Exchange, { ticket }: Route): string | undefined {
  if (ticket === undefined || query === "") return undefined;
  for (const [name, value] of parseQuery(query)) {
    if (name.toLowerCase() === "ticket" && typeof value === "string" && value !== "") return value;
  }
  return undefined;
}

/**
 * Identifies the caller and checks the signature of the request.
 *
 * @param token replaces the Authorization header for a client that cannot send headers; it needs no signature
 * @returns a promise, unless the token of the caller is cached
 * @throws ApiError errors of `authenticate`, AuthSignatureInvalid
 */
export function acceptCaller(
  exchange: Exchange,
  required: Exclude<CallerKind, "anyone">,
  authenticate: Authenticate,
  token?: string,
): void | Promise<void> {
  const authorization = token ?? exchange.headers.authorization;
  const accept = (caller: AnyCaller) => {
    exchange.caller = caller;
    setOrigin(exchange);
    if (!("policy" in caller) || caller.policy.signing === undefined) return;
    const signature = readSignature(authorization);
    if (token !== undefined && signature === undefined) return; // an <img> cannot sign
    const { applicationId, policy } = caller;
    requireSignature(policy.signing, signature, { method: exchange.method, applicationId, path: pathOf(exchange.url) });
    exchange.isSigned = signature !== undefined;
  };
  const caller = authenticate(authorization, required);
  return caller instanceof Promise ? caller.then(accept) : accept(caller);
}

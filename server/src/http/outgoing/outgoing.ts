import type { IncomingMessage, RequestOptions } from "node:http";
import { isIP, type LookupFunction } from "node:net";
import { fieldsOf } from "../../lib/fields.ts";
import { Agent, nodeHttps, request as requestHttp } from "../../lib/node-http.ts";
import { createAddressRule } from "./address-rule.ts";
import type { LookUp } from "./look-up.ts";

/** The limits of a GET by {@link Outgoing}. */
export interface FetchBounds {
  readonly bytesMax: number;
  /** From the lookup of the name to the last byte. */
  readonly timeoutMs: number;
  /** Whether a media type, in lower case and without parameters, is accepted; an answer may have none. */
  readonly takesType: (mediaType: string) => boolean;
  /** True for a URL that may only lead to public addresses and to those that OUTGOING_NETWORKS opens. */
  readonly isPublicOnly: boolean;
  readonly signal?: AbortSignal;
}

/**
 * Calls to addresses in an application's settings. All of them go through here, because any can lead to a server that
 * never stops sending, or into the network behind the service.
 */
export interface Outgoing {
  /**
   * Reads the body of a 200. Does not follow redirects, decompress, use proxies of the environment or keep connections.
   *
   * @throws OutgoingError when there is no valid answer within the bounds
   */
  fetchBytes(url: string, bounds: FetchBounds): Promise<Buffer>;
  /**
   * The addresses of a host that may be connected to. The connection must go to one of them, because a second lookup
   * could return others.
   *
   * @throws OutgoingError when the host has no address, or any that is not allowed
   */
  findPublicAddresses(host: string): Promise<readonly string[]>;
  /**
   * Sends a POST to a webhook, under the same restrictions. Any answer is a result.
   *
   * @throws OutgoingError when the URL may not be called, or there is no answer within the bounds
   */
  post(url: string, message: OutgoingMessage, bounds: PostBounds): Promise<OutgoingAnswer>;
  /**
   * The addresses of the host of a webhook. Its URL may lead to public addresses by https at usual ports; to addresses
   * in WEBHOOK_NETWORKS by http and at any port, too.
   *
   * @throws OutgoingError when the host has no address, or any that is not allowed
   */
  findWebhookAddresses(url: string, signal?: AbortSignal): Promise<readonly string[]>;
}

export interface OutgoingMessage {
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

export interface PostBounds {
  /** From the lookup of the name to the last byte. */
  readonly timeoutMs: number;
  /** The stored part of the answer's body. */
  readonly charactersMax: number;
  readonly signal?: AbortSignal;
}

export interface OutgoingAnswer {
  readonly status: number;
  readonly retryAfter: string | undefined;
  /** The beginning of the body, as far as it arrived in time. */
  readonly text: string;
}

/**
 * The reason for a missing answer: the URL may not be called, its host has no address, the time is over, or the
 * connection or the answer is broken.
 */
type OutgoingProblem = "refused" | "noAddress" | "timeout" | "connection" | "certificate" | "answer";

/**
 * A call that was not made, or whose answer was rejected. The message is for the log only, because it reveals the
 * internal network.
 */
export class OutgoingError extends Error {
  readonly problem: OutgoingProblem;

  constructor(problem: OutgoingProblem, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = "OutgoingError";
    this.problem = problem;
  }
}

/** Node.js ends the connection when the header or the trailers of an answer are longer. */
const headBytesMax = 16_384;

export function createOutgoing(
  {
    outgoingNetworks,
    webhookNetworks = [],
  }: { readonly outgoingNetworks: readonly string[]; readonly webhookNetworks?: readonly string[] },
  { lookUp }: { readonly lookUp: LookUp },
): Outgoing {
  const settingsRule = createAddressRule(outgoingNetworks);
  const webhookRule = createAddressRule(webhookNetworks);

  async function findAddresses(host: string, isAllowed: (address: string) => boolean): Promise<readonly string[]> {
    const name = normalizeHost(host);
    const addresses = isIP(name) === 0 ? await lookUp(name) : [name];
    if (addresses.length === 0) throw new OutgoingError("noAddress", `${name} has no address`);
    const refused = addresses.find((address) => !isAllowed(address));
    if (refused === undefined) return addresses;
    throw new OutgoingError("refused", `${name} leads to ${refused}, which is not a public address`);
  }

  const findPublicAddresses = (host: string) => findAddresses(host, settingsRule.isAllowed);

  function findWebhookAddresses(url: string, signal?: AbortSignal): Promise<readonly string[]> {
    const { hostname } = new URL(url);
    const found = findAddresses(hostname, isUsualUrl(url) ? webhookRule.isAllowed : webhookRule.isOpened);
    return signal === undefined ? found : abortable(found, signal);
  }

  async function post(url: string, { headers, body }: OutgoingMessage, bounds: PostBounds): Promise<OutgoingAnswer> {
    const deadline = AbortSignal.timeout(bounds.timeoutMs);
    const signal = bounds.signal === undefined ? deadline : AbortSignal.any([deadline, bounds.signal]);
    try {
      const addresses = await findWebhookAddresses(url, signal);
      const answer = await request(url, { method: "POST", headers, body, addresses, signal });
      return {
        status: answer.statusCode ?? 0,
        retryAfter: answer.headers["retry-after"],
        text: await readBeginning(answer, bounds.charactersMax),
      };
    } catch (error) {
      throw toOutgoingError(error, deadline, bounds.timeoutMs);
    }
  }

  async function fetchBytes(url: string, bounds: FetchBounds): Promise<Buffer> {
    const deadline = AbortSignal.timeout(bounds.timeoutMs);
    const signal = bounds.signal === undefined ? deadline : AbortSignal.any([deadline, bounds.signal]);
    try {
      const { hostname } = new URL(url);
      const addresses = bounds.isPublicOnly ? await abortable(findPublicAddresses(hostname), signal) : undefined;
      const headers = { accept: "application/json", "user-agent": "Rollcall" };
      const answer = await request(url, { method: "GET", headers, addresses, signal });
      return await readBody(answer, bounds);
    } catch (error) {
      throw toOutgoingError(error, deadline, bounds.timeoutMs);
    }
  }

  return { findPublicAddresses, fetchBytes, findWebhookAddresses, post };
}

function toOutgoingError(error: unknown, deadline: AbortSignal, timeoutMs: number): OutgoingError {
  if (deadline.aborted) return new OutgoingError("timeout", `no whole answer within ${timeoutMs} ms`);
  if (error instanceof OutgoingError) return error;
  const { code } = fieldsOf(error);
  return new OutgoingError(problemOf(`${code}`), reasonOf(error), { cause: error });
}

function problemOf(code: string): OutgoingProblem {
  if (code.startsWith("HPE_")) return "answer";
  return /CERT|SELF_SIGNED|VERIFY/.test(code) ? "certificate" : "connection";
}

const unprivilegedPort = 1_024;

/** By https, at its port or one that no other protocol of the system has. */
export function isUsualUrl(url: string): boolean {
  const { protocol, port } = new URL(url);
  return protocol === "https:" && (port === "" || Number(port) >= unprivilegedPort);
}

/**
 * The host name of a URL: without brackets, and every notation of an IPv4 address (`127.1`, `0x7f000001`) as dotted.
 */
function normalizeHost(host: string): string {
  const url = `http://${host.includes(":") && !host.startsWith("[") ? `[${host}]` : host}`;
  return (URL.canParse(url) ? new URL(url).hostname : host).replace(/^\[(.*)\]$/, "$1");
}

interface OutgoingRequest {
  readonly method: "GET" | "POST";
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
  /** Undefined for a URL that may lead anywhere. */
  readonly addresses: readonly string[] | undefined;
  readonly signal: AbortSignal;
}

/** @returns the response with its headers; the body is still to come */
function request(url: string, { method, headers, body, addresses, signal }: OutgoingRequest): Promise<IncomingMessage> {
  const https = new URL(url).protocol === "https:" ? nodeHttps() : undefined;
  // A new agent, because the global ones keep connections and may use a proxy of the environment.
  const agent = new (https?.Agent ?? Agent)({ keepAlive: false });
  const options: RequestOptions = {
    method,
    agent,
    signal,
    maxHeaderSize: headBytesMax,
    headers: {
      ...headers,
      "accept-encoding": "identity",
      ...(body !== undefined && { "content-length": Buffer.byteLength(body) }),
    },
    ...(https && { rejectUnauthorized: true }), // whatever NODE_TLS_REJECT_UNAUTHORIZED says
    // Host, SNI and the certificate check use the name; only the lookup returns the checked addresses.
    ...(addresses !== undefined && { lookup: answerWith(addresses) }),
  };
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
  (https?.request ?? requestHttp)(url, options, resolve).on("error", reject).end(body);
  return promise;
}

function answerWith(addresses: readonly string[]): LookupFunction {
  const all = addresses.map((address) => ({ address, family: isIP(address) }));
  return (_name, { all: wantsAll }, callback) => {
    const [first = { address: "", family: 0 }] = all;
    if (wantsAll) callback(null, all);
    else callback(null, first.address, first.family);
  };
}

const bytesPerCharacterMax = 4;

/** Reads the beginning of a body. An answer that ends early, or not in time, is an answer. */
async function readBeginning(answer: IncomingMessage, charactersMax: number): Promise<string> {
  const chunks: Buffer[] = [];
  let length = 0;
  try {
    for await (const chunk of answer as AsyncIterable<Buffer>) {
      // it has no encoding
      length += chunk.length;
      chunks.push(chunk);
      if (length >= charactersMax * bytesPerCharacterMax) break;
    }
  } catch {
    // The log shows the bytes that have arrived.
  } finally {
    answer.destroy();
  }
  const text = new TextDecoder().decode(Buffer.concat(chunks).subarray(0, charactersMax * bytesPerCharacterMax));
  return [...text].slice(0, charactersMax).join("");
}

async function readBody(answer: IncomingMessage, { bytesMax, takesType }: FetchBounds): Promise<Buffer> {
  try {
    requireReadable(answer, takesType);
    if (Number(answer.headers["content-length"] ?? 0) > bytesMax) throw tooLong(bytesMax);
    const chunks: Buffer[] = [];
    let length = 0;
    for await (const chunk of answer as AsyncIterable<Buffer>) {
      // it has no encoding
      length += chunk.length;
      if (length > bytesMax) throw tooLong(bytesMax);
      chunks.push(chunk);
    }
    return Buffer.concat(chunks);
  } finally {
    answer.destroy();
  }
}

/** @throws OutgoingError */
function requireReadable({ statusCode, headers }: IncomingMessage, takesType: FetchBounds["takesType"]): void {
  if (statusCode !== 200) throw new OutgoingError("answer", `answered ${statusCode}`);
  const encoding = headers["content-encoding"]?.trim().toLowerCase() ?? "identity";
  if (encoding !== "identity")
    throw new OutgoingError("answer", `answered in the encoding ${encoding}, which was not asked for`);
  const type = headers["content-type"]?.split(";")[0]?.trim().toLowerCase();
  if (type !== undefined && !takesType(type))
    throw new OutgoingError("answer", `answered with the content type ${type}`);
}

function tooLong(bytesMax: number): OutgoingError {
  return new OutgoingError("answer", `answered more than ${bytesMax} bytes`);
}

/** Stops waiting for a lookup on abort, because the lookup itself cannot be cancelled. */
function abortable<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  const { promise, reject } = Promise.withResolvers<never>();
  const abort = () => reject(signal.reason);
  signal.addEventListener("abort", abort, { once: true });
  if (signal.aborted) abort();
  return Promise.race([work, promise]).finally(() => signal.removeEventListener("abort", abort));
}

function reasonOf(error: unknown): string {
  const { code, message } = fieldsOf(error);
  return [code, message].filter((part) => typeof part === "string" && part !== "").join(": ");
}

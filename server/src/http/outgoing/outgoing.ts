import type { IncomingMessage, RequestOptions } from "node:http";
import { isIP, type LookupFunction } from "node:net";
import { Agent, nodeHttps, request as requestHttp } from "../../lib/builtins.ts";
import { fieldsOf } from "../../lib/fields.ts";
import { createAddressRule } from "./address-rule.ts";
import type { LookUp } from "./look-up.ts";

/** The limits of a GET by {@link Outgoing}. */
export interface FetchBounds {
  readonly bytesMax: number;
  /** From the lookup of the name to the last byte. */
  readonly timeoutMs: number;
  /** Whether a media type is accepted, in lower case and without parameters; not called for an answer without one. */
  readonly acceptsType: (mediaType: string) => boolean;
  /** Whether the URL may lead only to public addresses and to OUTGOING_NETWORKS. */
  readonly isPublicOnly: boolean;
  readonly signal?: AbortSignal;
}

/**
 * Calls URLs in an application's settings. Every such call goes through here, because the URL can lead to a server that
 * never stops sending, or into the network behind the service.
 */
export interface Outgoing {
  /**
   * Returns the body of a response with status 200. Does not follow redirects, decompress, use proxies of the
   * environment or reuse connections.
   *
   * @throws OutgoingError if no valid answer arrives within the bounds
   */
  fetchBytes(url: string, bounds: FetchBounds): Promise<Buffer>;
  /**
   * Returns the addresses of a host. Connect to one of them, because a second lookup could return others.
   *
   * @throws OutgoingError when the host has no address, or any that is not allowed
   */
  findPublicAddresses(host: string): Promise<readonly string[]>;
  /**
   * Sends a POST to a webhook, with the same restrictions. Returns the answer whatever its status is.
   *
   * @throws OutgoingError if the URL is not allowed, or no answer arrives within the bounds
   */
  post(url: string, message: OutgoingMessage, bounds: PostBounds): Promise<OutgoingAnswer>;
  /**
   * Returns the addresses of the host of a webhook. Its URL may lead to public addresses by https at usual ports, and
   * to addresses in WEBHOOK_NETWORKS also by http and at any port.
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
  /** The length of the stored part of the answer's body. */
  readonly charactersMax: number;
  readonly signal?: AbortSignal;
}

export interface OutgoingAnswer {
  readonly status: number;
  readonly retryAfter: string | undefined;
  /** The beginning of the body, as far as it arrived in time. */
  readonly text: string;
}

/** Why there is no answer: `refused` for a URL that is not allowed, `noAddress` for a host without an address. */
type OutgoingProblem = "refused" | "noAddress" | "timeout" | "connection" | "certificate" | "answer";

/** A call without a valid answer. The message is for the log only, because it reveals the internal network. */
export class OutgoingError extends Error {
  readonly problem: OutgoingProblem;

  constructor(problem: OutgoingProblem, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = "OutgoingError";
    this.problem = problem;
  }
}

/** Node.js closes the connection when the header or the trailers of an answer are longer. */
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

/** Whether a URL uses https, at port 443 or an unprivileged port, where no other system service listens. */
export function isUsualUrl(url: string): boolean {
  const { protocol, port } = new URL(url);
  return protocol === "https:" && (port === "" || Number(port) >= unprivilegedPort);
}

/**
 * Returns the host name of a URL without brackets, and an IPv4 address in any notation (`127.1`, `0x7f000001`) as
 * dotted.
 */
function normalizeHost(host: string): string {
  const url = `http://${host.includes(":") && !host.startsWith("[") ? `[${host}]` : host}`;
  return (URL.canParse(url) ? new URL(url).hostname : host).replace(/^\[(.*)\]$/, "$1");
}

interface OutgoingRequest {
  readonly method: "GET" | "POST";
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
  /** The addresses to connect to; undefined for any address. */
  readonly addresses: readonly string[] | undefined;
  readonly signal: AbortSignal;
}

/** @returns the response when its headers have arrived */
function request(url: string, { method, headers, body, addresses, signal }: OutgoingRequest): Promise<IncomingMessage> {
  const https = new URL(url).protocol === "https:" ? nodeHttps() : undefined;
  // A new agent, because the global ones reuse connections and may use a proxy of the environment.
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

/** Reads the beginning of a body. An interrupted or slow answer counts as an answer. */
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
    // Return the bytes that have arrived.
  } finally {
    answer.destroy();
  }
  const text = new TextDecoder().decode(Buffer.concat(chunks).subarray(0, charactersMax * bytesPerCharacterMax));
  return [...text].slice(0, charactersMax).join("");
}

async function readBody(answer: IncomingMessage, { bytesMax, acceptsType }: FetchBounds): Promise<Buffer> {
  try {
    requireReadable(answer, acceptsType);
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
function requireReadable({ statusCode, headers }: IncomingMessage, acceptsType: FetchBounds["acceptsType"]): void {
  if (statusCode !== 200) throw new OutgoingError("answer", `answered ${statusCode}`);
  const encoding = headers["content-encoding"]?.trim().toLowerCase() ?? "identity";
  if (encoding !== "identity")
    throw new OutgoingError("answer", `answered in the encoding ${encoding}, which was not asked for`);
  const type = headers["content-type"]?.split(";")[0]?.trim().toLowerCase();
  if (type !== undefined && !acceptsType(type))
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

import type { IncomingMessage, RequestOptions } from "node:http";
import { isIP, type LookupFunction } from "node:net";
import { fieldsOf } from "../lib/fields.ts";
import { Agent, nodeHttps, request as requestHttp } from "../lib/node-http.ts";
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
}

/**
 * A call that was not made, or whose answer was rejected. The message is for the log only, because it reveals the
 * internal network.
 */
export class OutgoingError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = "OutgoingError";
  }
}

/** Node.js ends the connection when the header or the trailers of an answer are longer. */
const headBytesMax = 16_384;

export function createOutgoing(
  { outgoingNetworks }: { readonly outgoingNetworks: readonly string[] },
  { lookUp }: { readonly lookUp: LookUp },
): Outgoing {
  const rule = createAddressRule(outgoingNetworks);

  async function findPublicAddresses(host: string): Promise<readonly string[]> {
    const name = normalizeHost(host);
    const addresses = isIP(name) === 0 ? await lookUp(name) : [name];
    if (addresses.length === 0) throw new OutgoingError(`${name} has no address`);
    const refused = addresses.find((address) => !rule.isAllowed(address));
    if (refused !== undefined) throw new OutgoingError(`${name} leads to ${refused}, which is not a public address`);
    return addresses;
  }

  async function fetchBytes(url: string, bounds: FetchBounds): Promise<Buffer> {
    const deadline = AbortSignal.timeout(bounds.timeoutMs);
    const signal = bounds.signal === undefined ? deadline : AbortSignal.any([deadline, bounds.signal]);
    try {
      const { hostname } = new URL(url);
      const addresses = bounds.isPublicOnly ? await abortable(findPublicAddresses(hostname), signal) : undefined;
      const answer = await request(url, addresses, signal);
      return await readBody(answer, bounds);
    } catch (error) {
      if (deadline.aborted) throw new OutgoingError(`no whole answer within ${bounds.timeoutMs} ms`);
      throw error instanceof OutgoingError ? error : new OutgoingError(reasonOf(error), { cause: error });
    }
  }

  return { findPublicAddresses, fetchBytes };
}

/**
 * The host name of a URL: without brackets, and every notation of an IPv4 address (`127.1`, `0x7f000001`) as dotted.
 */
function normalizeHost(host: string): string {
  const url = `http://${host.includes(":") && !host.startsWith("[") ? `[${host}]` : host}`;
  return (URL.canParse(url) ? new URL(url).hostname : host).replace(/^\[(.*)\]$/, "$1");
}

/** @returns the response with its headers; the body is still to come */
function request(url: string, addresses: readonly string[] | undefined, signal: AbortSignal): Promise<IncomingMessage> {
  const https = new URL(url).protocol === "https:" ? nodeHttps() : undefined;
  // A new agent, because the global ones keep connections and may use a proxy of the environment.
  const agent = new (https?.Agent ?? Agent)({ keepAlive: false });
  const options: RequestOptions = {
    agent,
    signal,
    maxHeaderSize: headBytesMax,
    headers: { accept: "application/json", "accept-encoding": "identity", "user-agent": "Rollcall" },
    // Host, SNI and the certificate check use the name; only the lookup returns the checked addresses.
    ...(addresses !== undefined && { lookup: answerWith(addresses) }),
  };
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
  (https?.request ?? requestHttp)(url, options, resolve).on("error", reject).end();
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
  if (statusCode !== 200) throw new OutgoingError(`answered ${statusCode}`);
  const encoding = headers["content-encoding"]?.trim().toLowerCase() ?? "identity";
  if (encoding !== "identity") throw new OutgoingError(`answered in the encoding ${encoding}, which was not asked for`);
  const type = headers["content-type"]?.split(";")[0]?.trim().toLowerCase();
  if (type !== undefined && !takesType(type)) throw new OutgoingError(`answered with the content type ${type}`);
}

function tooLong(bytesMax: number): OutgoingError {
  return new OutgoingError(`answered more than ${bytesMax} bytes`);
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

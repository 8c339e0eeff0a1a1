import type { Agent, IncomingMessage } from "node:http";
import type { Readable } from "node:stream";
import type { Config } from "../config/config.ts";
import * as nodeHttp from "../lib/builtins.ts";
import type { Clock } from "../lib/clock.ts";
import { takeRandomBytes } from "../lib/random.ts";
import { answerHeader, type CallHead, callHeader, createCallSignatures } from "./regions.signatures.ts";

/** The path of calls, below the root of a region. */
export const callsPath = "/_/regions";
/** Larger than any message between regions. */
export const messageBytesMax = 16_777_216;

const socketsMax = 64;

/** Exchanges over HTTP, from a signed call to its verified answer. */
export interface Exchanges {
  /**
   * @param call its digest identifies the body
   * @returns the answer as it was signed
   * @throws SocketClosed if the message can be sent again immediately; Error
   */
  run(call: Pick<CallHead, "name" | "to" | "digest">, body: Buffer | Readable, signal: AbortSignal): Promise<unknown>;
  close(): void;
}

/**
 * Calls go over HTTP to the roots of REGIONS; redirects are not followed. Calls and answers are signed
 * (`regions.signatures.ts`); an answer without a valid signature is treated as a failure.
 */
export function createExchanges(
  settings: Pick<Config, "region" | "regions" | "regionSecrets">,
  clock: Clock,
): Exchanges {
  const { region: own, regions } = settings;
  const signatures = regions.size === 0 ? undefined : createCallSignatures(settings);
  /** By protocol, made at the first call. */
  const agents = new Map<string, Agent>();

  return {
    async run(call, body, signal) {
      const nonce = takeRandomBytes(18).toString("base64url");
      const head: CallHead = { ...call, from: own, at: clock.now(), nonce };
      const root = regions.get(head.to);
      if (root === undefined || signatures === undefined) throw new Error(`REGIONS does not name ${head.to}`);
      const { protocol } = new URL(root);
      const { Agent, request } = protocol === "https:" ? nodeHttp.nodeHttps() : nodeHttp;
      const agent = agents.getOrInsertComputed(protocol, () => new Agent({ keepAlive: true, maxSockets: socketsMax }));
      const outgoing = request(`${root}${callsPath}/${head.name}`, {
        method: "POST",
        agent,
        signal,
        headers: {
          "content-type": "application/octet-stream",
          [callHeader]: signatures.sign(head),
          ...(Buffer.isBuffer(body) && { "content-length": body.length }),
        },
      });
      const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
      outgoing.on("response", resolve);
      outgoing.on("error", reject);
      if (Buffer.isBuffer(body)) outgoing.end(body);
      else {
        body.on("error", (error) => outgoing.destroy(error));
        body.pipe(outgoing);
      }
      const incoming = await promise.catch((error) => {
        const isClosed = outgoing.reusedSocket && Buffer.isBuffer(body) && error.code === "ECONNRESET";
        throw isClosed ? new SocketClosed({ cause: error }) : error;
      });
      const answer = await readAnswer(incoming);
      const signature = incoming.headers[answerHeader];
      if (typeof signature !== "string" || !signatures.isAnswer(head, answer, signature)) {
        throw new Error(
          `${root} answered ${incoming.statusCode}, unsigned: are REGION_SECRET and the clocks the same there?`,
        );
      }
      return JSON.parse(answer.toString("utf8"));
    },

    close() {
      for (const agent of agents.values()) agent.destroy();
    },
  };
}

/** A reused connection was closed. */
export class SocketClosed extends Error {
  constructor(options: ErrorOptions) {
    super("The connection was closed", options);
  }
}

/** @throws Error if the answer exceeds the limit or is incomplete */
async function readAnswer(incoming: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of incoming) {
    length += chunk.length;
    if (length > messageBytesMax) throw new Error("The answer is too large");
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

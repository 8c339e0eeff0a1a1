import type { IncomingHttpHeaders } from "node:http";
import type { FastifyInstance, FastifyRequest } from "fastify";
import { type ArrivingBytes, arrivingBytes } from "./arriving-bytes.ts";
import { discardRest } from "./body.ts";
import { jsonContentType } from "./envelope.ts";

/** A path that clients do not call. It authenticates by itself; its errors use the envelope. */
export interface InternalEndpoint {
  /** The operation name in the log. */
  readonly operation: string;
  /** The prefix of the paths, one for each call. */
  readonly path: string;
  /** The time that may pass without any data. */
  readonly silentMsMax: number;
  /** @throws ApiError */
  answer(call: InternalCall): Promise<InternalAnswer>;
}

export interface InternalCall {
  readonly requestId: string;
  /** The last segment of the path, which may be any text. */
  readonly name: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: ArrivingBytes;
}

export interface InternalAnswer {
  readonly headers: Readonly<Record<string, string>>;
  /** JSON. */
  readonly body: Buffer;
}

/** Registers an internal endpoint, which receives the raw body. */
export function mountInternalEndpoint(server: FastifyInstance, endpoint: InternalEndpoint): void {
  async function answer(request: FastifyRequest): Promise<InternalAnswer> {
    const body = arrivingBytes(request.raw, endpoint.silentMsMax);
    const { name } = request.params as { name: string }; // the router's, by the name in the path
    try {
      return await endpoint.answer({ requestId: request.id, name, headers: request.headers, body });
    } finally {
      body.end();
      await discardRest(request.raw);
    }
  }

  server.route({
    method: "POST",
    url: `${endpoint.path}/:name`,
    config: { operation: endpoint.operation, isUpload: true },
    handler(request, reply) {
      answer(request).then(
        ({ headers, body }) =>
          reply.headers(headers).header("content-type", jsonContentType).header("cache-control", "no-store").send(body),
        (error) => reply.send(error),
      );
    },
  });
}

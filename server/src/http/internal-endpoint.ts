import type { IncomingHttpHeaders } from "node:http";
import type { FastifyInstance, FastifyRequest } from "fastify";
import { type ArrivingBytes, arrivingBytes } from "./arriving-bytes.ts";
import { discardRest } from "./body.ts";
import { jsonContentType } from "./envelope.ts";

/** A path that no client calls: it judges by itself who does. What it throws is answered in the envelope. */
export interface InternalEndpoint {
  /** The name in the log. */
  readonly operation: string;
  /** Below it lies a path for each call. */
  readonly path: string;
  /** For so long nothing need arrive. */
  readonly silentMsMax: number;
  /** @throws ApiError */
  answer(call: InternalCall): Promise<InternalAnswer>;
}

export interface InternalCall {
  readonly requestId: string;
  /** The last word of the path, which may be anything. */
  readonly name: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: ArrivingBytes;
}

export interface InternalAnswer {
  readonly headers: Readonly<Record<string, string>>;
  /** JSON. */
  readonly body: Buffer;
}

/** Puts an internal endpoint on the server, which takes the body as it comes. */
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
        ({ headers, body }) => reply.headers(headers).header("content-type", jsonContentType).send(body),
        (error) => reply.send(error),
      );
    },
  });
}

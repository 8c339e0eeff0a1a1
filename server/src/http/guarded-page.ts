import type { FastifyInstance } from "fastify";

/** A page under `/_/` for one tool, protected by a secret: generated for each request, in its own format. */
export interface GuardedPage {
  readonly path: string;
  /** The operation name in the log. */
  readonly operation: string;
  /** @throws ApiError AuthFailed */
  load(authorization: string | undefined): Promise<{ readonly contentType: string; readonly content: string }>;
}

export function mountGuardedPage(server: FastifyInstance, { path, operation, load }: GuardedPage): void {
  server.route({
    method: ["GET", "HEAD"],
    url: path,
    config: { operation },
    async handler(request, reply) {
      const { contentType, content } = await load(request.headers.authorization);
      return reply.header("content-type", contentType).header("cache-control", "no-store").send(content);
    },
  });
}

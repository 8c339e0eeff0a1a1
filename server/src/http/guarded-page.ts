import type { FastifyInstance } from "fastify";

/** Something under `/_/` for one tool to fetch, that knows a secret: made anew each time, in a format of its own. */
export interface GuardedPage {
  readonly path: string;
  /** Its name in the log. */
  readonly operation: string;
  /** @throws ApiError AuthFailed */
  load(authorization: string | undefined): Promise<{ readonly contentType: string; readonly content: string }>;
}

export function mountGuardedPage(server: FastifyInstance, { path, operation, load }: GuardedPage): void {
  server.get(path, { config: { operation } }, async (request, reply) => {
    const { contentType, content } = await load(request.headers.authorization);
    return reply.header("content-type", contentType).header("cache-control", "no-store").send(content);
  });
}

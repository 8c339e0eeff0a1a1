import type { FastifyInstance } from "fastify";

/** Something under `/_/` for a person or a tool to fetch: it speaks its own format instead of the envelope. */
export interface Page {
  readonly path: string;
  readonly contentType: string;
  /** Called at the first request; the content is kept. */
  load(): string | Buffer;
}

// Pages may use what this server serves, and nothing from any other host.
const contentSecurityPolicy =
  "default-src 'self'; img-src 'self' data:; style-src 'self' 'unsafe-inline'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'";

export function mountPage(server: FastifyInstance, page: Page): void {
  let content: Buffer | undefined;
  server.get(page.path, (_request, reply) => {
    content ??= Buffer.from(page.load());
    reply
      .header("content-type", page.contentType)
      .header("content-security-policy", contentSecurityPolicy)
      .header("cross-origin-opener-policy", "same-origin")
      .header("cross-origin-resource-policy", "same-origin")
      .header("referrer-policy", "no-referrer")
      .header("cache-control", "no-cache")
      .send(content);
  });
}

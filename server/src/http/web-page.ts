import { successReply } from "../operations/envelope.ts";
import { createEncodedContent, type EncodedContent, namesTag, prefersHtml } from "./encoded-content.ts";
import { type Exchange, sendReply } from "./exchange.ts";
import { pathOf } from "./request-log.ts";
import type { RouteTable } from "./route-table.ts";

/** A page under `/_/` for people or tools, in its own format instead of the envelope. */
export interface Page {
  readonly path: string;
  readonly contentType: string;
  /**
   * Called at the first request; the content is cached.
   *
   * @param isSlashed whether the requested path has a trailing slash; always false without `hasRelativeUrls`
   */
  load(isSlashed: boolean): string | Buffer;
  /** Whether URLs in the page depend on the trailing slash of its path. */
  readonly hasRelativeUrls?: boolean;
  /** Whether `load` returns content that is compressed with Brotli. */
  readonly isBrotli?: boolean;
  /** The request headers that the response depends on, in addition to Accept-Encoding. */
  readonly vary?: string;
}

// Pages may load resources from this server only.
const contentSecurityPolicy =
  "default-src 'self'; img-src 'self' data:; style-src 'self' 'unsafe-inline'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'";

export function mountPage(routes: RouteTable, page: Page): void {
  routes.add(["GET", "HEAD"], page.path, { answer: pageSender(page) });
}

/** Returns a function that sends the page in an encoding that the client accepts, or 304 if the client has it. */
function pageSender(page: Page): (exchange: Exchange) => Promise<void> {
  const contents = new Map<boolean, EncodedContent>();

  function contentFor({ url }: Exchange): EncodedContent {
    const isSlashed = page.hasRelativeUrls === true && pathOf(url).endsWith("/");
    let content = contents.get(isSlashed);
    if (content === undefined) {
      content = createEncodedContent(Buffer.from(page.load(isSlashed)), page.isBrotli === true);
      contents.set(isSlashed, content);
    }
    return content;
  }

  return async (exchange) => {
    const content = contentFor(exchange);
    const { encoding, etag } = content.choose(exchange.headers["accept-encoding"]);
    exchange.setHeaders({
      "content-security-policy": contentSecurityPolicy,
      "cross-origin-opener-policy": "same-origin",
      "cross-origin-resource-policy": "same-origin",
      "referrer-policy": "no-referrer",
      "cache-control": "no-cache",
      vary: page.vary ?? "Accept-Encoding",
      etag,
    });
    if (namesTag(exchange.headers["if-none-match"], etag)) {
      exchange.send(304);
      return;
    }
    exchange.setHeader("content-type", page.contentType);
    if (encoding !== "identity") exchange.setHeader("content-encoding", encoding);
    exchange.send(200, await content.encoded(encoding));
  };
}

/** The page at `/`: HTML for browsers, and the same content as JSON for other clients. */
export interface LandingPage {
  readonly html: Omit<Page, "path">;
  readonly result: Readonly<Record<string, string>>;
}

export function mountLandingPage(routes: RouteTable, { html, result }: LandingPage): void {
  const sendHtml = pageSender({ ...html, path: "/", vary: "Accept, Accept-Encoding" });
  const reply = successReply(200, JSON.stringify(result));
  routes.add(["GET", "HEAD"], "/", {
    async answer(exchange) {
      if (prefersHtml(exchange.headers.accept)) return sendHtml(exchange);
      exchange.setHeader("vary", "Accept");
      sendReply(exchange, reply);
    },
  });
}

/**
 * A page under `/_/` for a tool, such as Prometheus: protected by a secret, generated for each request, in its own
 * format.
 */
export interface GuardedPage {
  readonly path: string;
  /** The operation name in the log. */
  readonly operation: string;
  /** @throws ApiError AuthFailed */
  load(authorization: string | undefined): Promise<{ readonly contentType: string; readonly content: string }>;
}

export function mountGuardedPage(routes: RouteTable, { path, operation, load }: GuardedPage): void {
  routes.add(["GET", "HEAD"], path, {
    name: operation,
    async answer(exchange) {
      const { contentType, content } = await load(exchange.headers.authorization);
      exchange.setHeaders({ "content-type": contentType, "cache-control": "no-store" });
      exchange.send(200, content);
    },
  });
}

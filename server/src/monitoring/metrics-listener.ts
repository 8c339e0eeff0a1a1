import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { GuardedPage } from "../http/guarded-page.ts";
import { ApiError } from "../lib/errors.ts";
import { errorReply, jsonContentType, newRequestId, replyBody, toApiError } from "../operations/envelope.ts";

/** A port that serves a single page. */
export interface MetricsListener {
  /** @returns the port, which differs from the requested one when that is 0 */
  listen(host: string, port: number): Promise<number>;
  close(): Promise<void>;
}

/** More connections than a scraper opens. */
const connectionsMax = 64;
const timeoutMs = 10_000;

export function createMetricsListener(page: GuardedPage): MetricsListener {
  const server = createServer(
    { requestTimeout: timeoutMs, headersTimeout: timeoutMs, keepAliveTimeout: 60_000, maxHeaderSize: 8_192 },
    (request, response) => {
      answer(page, request, response).catch(() => response.destroy());
    },
  );
  server.maxConnections = connectionsMax;

  return {
    async listen(host, port) {
      await new Promise<void>((resolve, reject) => {
        server.once("error", reject);
        server.listen({ host, port }, resolve);
      });
      return (server.address() as AddressInfo).port; // the server listens on TCP
    },
    async close() {
      if (!server.listening) return;
      const closed = new Promise((resolve) => server.close(resolve));
      server.closeAllConnections(); // an interrupted scrape is repeated
      await closed;
    },
  };
}

async function answer(page: GuardedPage, request: IncomingMessage, response: ServerResponse): Promise<void> {
  request.resume(); // discards a body
  try {
    const [path] = request.url?.split("?", 1) ?? [];
    if ((request.method !== "GET" && request.method !== "HEAD") || path !== page.path)
      throw new ApiError("OperationNotFound");
    const { contentType, content } = await page.load(request.headers.authorization);
    response.writeHead(200, { ...headers, "content-type": contentType }).end(content);
  } catch (error) {
    const reply = errorReply(toApiError(error));
    const body = replyBody(reply, newRequestId());
    response.writeHead(reply.status, { ...headers, "content-type": jsonContentType }).end(body);
  }
}

const headers = { "cache-control": "no-store", "x-content-type-options": "nosniff" };

import { hash, timingSafeEqual } from "node:crypto";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { collectDefaultMetrics, Registry } from "prom-client";
import type { Config } from "../config/config.ts";
import type { RequestObserver } from "../http/request-observer.ts";
import type { GuardedPage } from "../http/web-page.ts";
import { ApiError } from "../lib/errors.ts";
import { errorReply, jsonContentType, newRequestId, replyBody, toApiError } from "../operations/envelope.ts";
import type { Peers } from "../workers/peers.ts";
import { createApplicationCounts } from "./application-counts.ts";
import { metricsRequest } from "./kept-counts.ts";
import { createReaders, type Sources } from "./readers.ts";
import { createRequestCounts } from "./requests.ts";
import type { Snapshot } from "./samples.ts";
import { readMetrics, renderSnapshots, snapshotContentType, withExactSums } from "./snapshot.ts";

/** A port that serves a single page. */
interface MetricsListener {
  /** @returns the port, which differs from the requested one when that is 0 */
  listen(host: string, port: number): Promise<number>;
  close(): Promise<void>;
}

/** More connections than a scraper opens. */
const connectionsMax = 64;
const timeoutMs = 10_000;

function createMetricsListener(page: GuardedPage): MetricsListener {
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
  request.resume(); // discards the request body
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

/** The Prometheus metrics of the server. */
export interface Insight {
  readonly observer: RequestObserver;
  /** The metrics of this process. */
  takeSnapshot(): Promise<Snapshot>;
  /**
   * The page on the service's port, for scrapers with METRICS_TOKEN; undefined without a token, or when METRICS_PORT is
   * set.
   */
  readonly pages: readonly GuardedPage[];
  /** The listener on METRICS_PORT, when it is set. */
  readonly listener: MetricsListener | undefined;
}

/** A slower process is omitted; Prometheus itself waits for ten seconds. */
const answerMsMax = 8_000;

/** Starts counting. A scrape of any worker returns the metrics of all workers. */
export function createInsight(
  config: Pick<Config, "metricsToken" | "metricsPort" | "metricsApplicationsMax">,
  sources: Omit<Sources, "requests" | "applications">,
  peers: Peers,
): Insight {
  const applications = createApplicationCounts(config.metricsApplicationsMax);
  const requests = createRequestCounts(applications);
  const readers = createReaders({ ...sources, requests, applications });
  const ofProcess = new Registry();
  collectDefaultMetrics({ register: ofProcess });
  const takeSnapshot = async () => withExactSums([...readMetrics(readers), ...(await samplesOfProcess(ofProcess))]);
  peers.answer(metricsRequest, takeSnapshot);
  // Workers answer with a Snapshot.
  const gather = async () => (await peers.ask(metricsRequest, answerMsMax)) as readonly Snapshot[];
  const page = metricsPage(config.metricsToken, gather);
  return {
    observer: requests.observer,
    takeSnapshot,
    pages: config.metricsPort === undefined ? [page] : [],
    listener: config.metricsPort === undefined ? undefined : createMetricsListener(page),
  };
}

/** The library's types declare an enum where the value is a string. */
async function samplesOfProcess(registry: Registry): Promise<Snapshot> {
  const metrics = await registry.getMetricsAsJSON();
  return metrics.map((metric) => ({ ...metric, type: `${metric.type}` }));
}

/** The path that Prometheus scrapes. */
export const metricsPath = "/_/prometheus";

/**
 * Serves the metrics.
 *
 * @param token undefined when scrapes need no token
 * @param gather the snapshots of all workers
 */
export function metricsPage(token: string | undefined, gather: () => Promise<readonly Snapshot[]>): GuardedPage {
  const isRight = token === undefined ? () => true : bearerOf(token);
  return {
    path: metricsPath,
    operation: "scrapeMetrics",
    async load(authorization) {
      if (!isRight(authorization)) throw new ApiError("AuthFailed", "The token in METRICS_TOKEN is required.");
      return { contentType: snapshotContentType, content: await renderSnapshots(await gather()) };
    },
  };
}

/** Compares in constant time. */
function bearerOf(token: string): (authorization: string | undefined) => boolean {
  const right = hash("sha256", token, "buffer");
  return (authorization = "") => {
    const [, given] = /^bearer +(.+)$/i.exec(authorization) ?? [];
    return given !== undefined && timingSafeEqual(hash("sha256", given, "buffer"), right);
  };
}

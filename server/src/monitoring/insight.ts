import { hash, timingSafeEqual } from "node:crypto";
import { collectDefaultMetrics, Registry } from "prom-client";
import type { Config } from "../config/config.ts";
import type { GuardedPage } from "../http/guarded-page.ts";
import type { RequestObserver } from "../http/request-observer.ts";
import { ApiError } from "../lib/errors.ts";
import type { Peers } from "../workers/peers.ts";
import { createApplicationCounts } from "./application-counts.ts";
import { metricsRequest } from "./kept-counts.ts";
import { createMetricsListener, type MetricsListener } from "./metrics-listener.ts";
import { createReaders, type Sources } from "./readers.ts";
import { createRequestCounts } from "./requests.ts";
import type { Snapshot } from "./samples.ts";
import { readMetrics, renderSnapshots, snapshotContentType, withExactSums } from "./snapshot.ts";

/** The Prometheus metrics of the server. */
export interface Insight {
  readonly observer: RequestObserver;
  /** The metrics of this process. */
  takeSnapshot(): Promise<Snapshot>;
  /** On the service's port, for scrapers with METRICS_TOKEN; undefined without a token, or when METRICS_PORT is set. */
  readonly pages: readonly GuardedPage[];
  /** The listener on METRICS_PORT, when it is set. */
  readonly listener: MetricsListener | undefined;
}

/** A process that takes longer is left out; Prometheus itself waits for ten seconds. */
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

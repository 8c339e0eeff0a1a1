import { hash, timingSafeEqual } from "node:crypto";
import { collectDefaultMetrics, Registry } from "prom-client";
import type { Config } from "../config.ts";
import { ApiError } from "../errors.ts";
import type { GuardedPage } from "../http/guarded-page.ts";
import type { RequestObserver } from "../http/request-observer.ts";
import type { Siblings } from "../workers/siblings.ts";
import { createApplicationCounts } from "./application-counts.ts";
import { metricsQuestion } from "./kept-counts.ts";
import { createMetricsListener, type MetricsListener } from "./metrics-listener.ts";
import { createReaders, type Sources } from "./readers.ts";
import { createRequestCounts } from "./requests.ts";
import type { Snapshot } from "./samples.ts";
import { readMetrics, renderSnapshots, snapshotContentType, withExactSums } from "./snapshot.ts";

/** What the server knows of itself, for Prometheus. */
export interface Insight {
  readonly observer: RequestObserver;
  /** Of this process. */
  takeSnapshot(): Promise<Snapshot>;
  /** On the port of the service, for who brings METRICS_TOKEN; not where there is none, or a port for it alone. */
  readonly pages: readonly GuardedPage[];
  /** The port of METRICS_PORT, where it is set. */
  readonly listener: MetricsListener | undefined;
}

/** One that is too busy for that is left out; Prometheus itself waits for ten seconds. */
const answerMsMax = 8_000;

/** Begins to count; whichever process is scraped tells of all that serve together. */
export function createInsight(
  config: Pick<Config, "metricsToken" | "metricsPort" | "metricsApplicationsMax">,
  sources: Omit<Sources, "requests" | "applications">,
  siblings: Siblings,
): Insight {
  const applications = createApplicationCounts(config.metricsApplicationsMax);
  const requests = createRequestCounts(applications);
  const readers = createReaders({ ...sources, requests, applications });
  const ofProcess = new Registry();
  collectDefaultMetrics({ register: ofProcess });
  const takeSnapshot = async () => withExactSums([...readMetrics(readers), ...(await samplesOfProcess(ofProcess))]);
  siblings.answer(metricsQuestion, takeSnapshot);
  const gather = async () => (await siblings.ask(metricsQuestion, answerMsMax)) as readonly Snapshot[]; // as they answer
  const page = metricsPage(config.metricsToken, gather);
  return {
    observer: requests.observer,
    takeSnapshot,
    pages: config.metricsPort === undefined ? [page] : [],
    listener: config.metricsPort === undefined ? undefined : createMetricsListener(page),
  };
}

/** The library's types name an enum for what is a text in truth. */
async function samplesOfProcess(registry: Registry): Promise<Snapshot> {
  return (await registry.getMetricsAsJSON()) as unknown as Snapshot;
}

/** Where Prometheus asks. */
export const metricsPath = "/_/prometheus";

/**
 * @param token undefined where anybody may ask
 * @param gather the snapshots of all processes that serve together
 */
export function metricsPage(token: string | undefined, gather: () => Promise<readonly Snapshot[]>): GuardedPage {
  const isRight = token === undefined ? () => true : bearerOf(token);
  return {
    path: metricsPath,
    operation: "scrapeMetrics",
    async load(authorization) {
      if (!isRight(authorization)) throw new ApiError("AuthFailed", "The token of METRICS_TOKEN is needed.");
      return { contentType: snapshotContentType, content: await renderSnapshots(await gather()) };
    },
  };
}

/** Compares in the same time, whatever is right about it. */
function bearerOf(token: string): (authorization: string | undefined) => boolean {
  const right = hash("sha256", token, "buffer");
  return (authorization = "") => {
    const [, given] = /^bearer +(.+)$/i.exec(authorization) ?? [];
    return given !== undefined && timingSafeEqual(hash("sha256", given, "buffer"), right);
  };
}

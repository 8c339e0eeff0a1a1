import { creationHandler, deletionHandler } from "../applications/applications.remote.ts";
import { moveHandlers } from "../archives/moves.import.ts";
import { createActionLog } from "../audit/audit.action-log.ts";
import type { Config } from "../config/config.ts";
import type { Log } from "../config/log.ts";
import { build } from "../config/version.ts";
import type { Endpoint } from "../contract/endpoint.ts";
import type { Route } from "../contract/route.ts";
import { createOwnReports } from "../deployment/own-reports.ts";
import { createTraffic } from "../deployment/traffic.ts";
import { tusEndpoint } from "../files/files.tus.ts";
import { readCertificate } from "../http/certificate.ts";
import type { HttpServer } from "../http/http-server.ts";
import { createInFlight } from "../http/in-flight.ts";
import { type AnsweredCall, joinObservers } from "../http/request-observer.ts";
import { createTransport } from "../http/transport.ts";
import { createRunOnce } from "../idempotency/idempotency.ts";
import type { Jobs } from "../jobs/job.ts";
import { createSteps, type Steps } from "../jobs/steps.ts";
import { currentCall } from "../lib/current-call.ts";
import type { OwnSecrets } from "../lib/secret-ring.ts";
import { type ByteBudget, createByteBudget } from "../limits/byte-budget.ts";
import type { createInsight, Insight } from "../monitoring/insight.ts";
import { type BoundOperation, bindOperation } from "../operations/perform.ts";
import { createRehearsals } from "../operations/rehearsals.ts";
import type { Services } from "../operations/services.ts";
import { type RegionHandlers, regionsEndpoint } from "../regions/regions.endpoint.ts";
import { registrationHandler } from "../regions/regions.registration.ts";
import { consoleAssets } from "../service/console.ts";
import { documentationPages } from "../service/documentation.ts";
import { landingPage } from "../service/landing.ts";
import { closeServices, createServices, type OwnServices, type ServiceOverrides } from "./create-services.ts";
import { createRoutes } from "./operations.ts";

/** A server that is ready to listen. */
export interface App extends Omit<Services, "observer" | "isDraining"> {
  readonly transport: HttpServer;
  /** The bytes of requests in flight in memory. */
  readonly bytesInFlight: Pick<ByteBudget, "heldBytes" | "heldBytesMax">;
  readonly routes: readonly Route[];
  readonly endpoints: readonly Endpoint[];
  /** Undefined if no metrics endpoint is configured. */
  readonly insight: Insight | undefined;
  readonly secrets: OwnSecrets;
  readonly jobs: Jobs;
  readonly maintenance: Steps;
  /**
   * Refuses new requests, waits at most `graceMs` for requests in flight, and closes the database. Further calls wait for the
   * same shutdown.
   */
  close(graceMs: number): Promise<void>;
}

/** Builds the server from its settings. Start reading here. */
export async function buildApp(config: Config, overrides: ServiceOverrides = {}): Promise<App> {
  const certificate = config.tls && (await readCertificate(config.tls)); // first, because nothing has to be closed if it fails
  const serverUrl = () => config.publicUrl ?? currentCall()?.root?.() ?? transport.networkUrl();
  const own = await createServices(config, serverUrl, overrides);
  const { log, clock, bytes, regions, routeTable, rateLimits } = own;

  const maintenance = createSteps("maintenance", log);
  const describe = (name: string) => describeOperation(name, routes, endpoints);
  const certificateEnds = () => transport.certificateEnds();
  const insight = await openInsight(config, {
    ...{ ...own, ...own.signInAlerts, maintenance, certificateEnds },
    describeOperation: describe,
    backup: () => ownReports.backup,
  });
  const traces = await openTracing(config, log, describe);

  function count(call: AnsweredCall): void {
    own.statistics.count(call);
    own.requests.record(call);
  }
  const traffic = createTraffic(own);
  const observer = joinObservers({ ...traffic.observer, answered: count, answeredItem: count }, insight?.observer);
  const ownReports = createOwnReports(config, { ...own, traffic, certificateEnds });

  let isDraining = false;
  const services: Services = { ...own, observer, ownReports, isDraining: () => isDraining };
  const routes = createRoutes(services);
  const endpoints: readonly Endpoint[] = [tusEndpoint(services)];

  const requireServed = regions.areSeveral ? own.policies.requireServed : undefined;
  const operations = bindOperations(routes, own, requireServed);

  const bytesInFlight = createByteBudget(config.inFlightBytesMax);
  const transport = createTransport({
    config,
    certificate,
    log,
    routeTable,
    operations,
    endpoints,
    internalEndpoints: regions.areSeveral
      ? [
          regionsEndpoint(config, {
            handlers: regionHandlers(own, operations, count),
            limitCounters: own.limitCounters,
            clock,
            log,
          }),
        ]
      : [],
    pages: documentationPages({ routes, endpoints }, config),
    landingPage,
    consoleAssets: config.console ? consoleAssets(overrides.consoleFolder) : undefined,
    guardedPages: insight?.pages ?? [],
    observer,
    onPlainHttp: traffic.noteClear,
    tracer: traces?.tracer,
    beginTick: own.callers.noticeRevocations,
    authenticate: own.authenticate,
    rateLimits,
    inFlight: createInFlight({
      budget: bytesInFlight,
      bufferedBytes: bytes.bufferedBytes,
      callerUploadsMax: config.rateLimits ? config.callerUploadsMax : undefined,
    }),
    requireServed,
    delayWrite: own.eventLog.waitForBacklog,
    isDraining: services.isDraining,
  });

  const certificateCheck =
    config.tls &&
    own.jobs.start({
      name: "TLS certificate",
      everyMs: certificateMs,
      failure: "the TLS certificate could not be checked",
      run: () => transport.reloadCertificate(),
    });

  async function close(graceMs: number): Promise<void> {
    isDraining = true;
    await certificateCheck?.stop(backgroundGraceMsMin);
    const endBy = performance.now() + graceMs;
    own.streams.close();
    await transport.drain(graceMs);
    await insight?.listener?.close();
    await closeServices(own, Math.max(endBy - performance.now(), backgroundGraceMsMin));
    await traces?.close(Math.max(endBy - performance.now(), tracesGraceMsMin));
  }
  let closing: Promise<void> | undefined;

  return {
    ...own,
    transport,
    bytesInFlight,
    routes,
    endpoints,
    insight,
    maintenance,
    ownReports,
    close: (graceMs) => {
      closing ??= close(graceMs);
      return closing;
    },
  };
}

/** The minimum time for sending traces, even without a grace period. */
const tracesGraceMsMin = 100;
const backgroundGraceMsMin = 1_000;
const certificateMs = 2_000;

type DescribeOperation = (name: string) => ReturnType<typeof describeOperation>;

/** Loads the metrics only if they are configured. */
async function openInsight(
  config: Config,
  sources: Omit<Parameters<typeof createInsight>[1], "version"> & Pick<Services, "peers">,
): Promise<Insight | undefined> {
  if (config.metricsToken === undefined && config.metricsPort === undefined) return undefined;
  return (await import("../monitoring/insight.ts")).createInsight(
    config,
    { ...sources, version: build },
    sources.peers,
  );
}

/** Loads the tracing only if it is configured. */
async function openTracing({ traces }: Config, log: Log, describeOperation: DescribeOperation) {
  if (traces === undefined) return undefined;
  const { openTraces } = await import("../monitoring/traces.ts");
  return openTraces(traces, { version: build, log, describeOperation });
}

function bindOperations(
  routes: readonly Route[],
  own: OwnServices,
  requireServed: OwnServices["policies"]["requireServed"] | undefined,
): readonly BoundOperation[] {
  const { config, findLocation, rateLimits, log } = own;
  const runOnce = createRunOnce({ ...own, limits: config });
  const actionLog = createActionLog(own);
  const rehearsals = createRehearsals({ isAllowed: config.rehearsals });
  return routes.map((route) =>
    bindOperation(route, { requireServed, findLocation, runOnce, actionLog, rateLimits, rehearsals, log }),
  );
}

/** The handlers of calls from other regions. */
function regionHandlers(
  own: OwnServices,
  operations: readonly BoundOperation[],
  onAnswered: (call: AnsweredCall) => void,
): RegionHandlers {
  const { regions, log, config } = own;
  return {
    createApplication: creationHandler(own),
    deleteApplication: deletionHandler(own),
    ...moveHandlers({ ...config, ...own }),
    registerDevice: registrationHandler({
      regions,
      log,
      logSample: config.logSample,
      onAnswered,
      findOperation: (name) => operations.find(({ route }) => route.operation === name),
    }),
  };
}

/** Finds the method and route of an operation, for the labels of metrics. */
function describeOperation(name: string, routes: readonly Route[], endpoints: readonly Endpoint[]) {
  const operations = [...routes, ...endpoints.flatMap((endpoint) => endpoint.operations)];
  const found = operations.find(({ operation }) => operation === name);
  return found && { method: found.method, route: found.path };
}

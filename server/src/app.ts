import { applicationsElsewhereOperatorRoutes } from "./applications/applications.elsewhere.operator.routes.ts";
import { creationHandler, deletionHandler } from "./applications/applications.elsewhere.ts";
import { applicationsOperatorRoutes } from "./applications/applications.operator.routes.ts";
import type { AuditEvent } from "./audit/audit.events.ts";
import { auditOperatorRoutes } from "./audit/audit.operator.routes.ts";
import { createTrail } from "./audit/audit.trail.ts";
import { type Audit, createAudit } from "./audit/audit.ts";
import { createCallers } from "./auth/caller.ts";
import { createIdTokens } from "./auth/oidc.ts";
import { createOperatorTokens, type OperatorTokens } from "./auth/operator-tokens.ts";
import { createOperatorCallers } from "./auth/operators.ts";
import { createPasswords, type Passwords } from "./auth/passwords.ts";
import { createRevocations, type Revocations } from "./auth/revocations.ts";
import { createSignInGuard, type LockOut } from "./auth/sign-in-guard.ts";
import { createTokenUses, type TokenUses } from "./auth/token-uses.ts";
import { createTokens } from "./auth/tokens.ts";
import { type Background, createBackground } from "./background.ts";
import { batchRoutes } from "./batch/batch.routes.ts";
import { checkinsOperatorRoutes } from "./checkins/checkins.operator.routes.ts";
import { checkinsRoutes } from "./checkins/checkins.routes.ts";
import type { Config } from "./config.ts";
import type { Database } from "./db/database.ts";
import { openDatabase } from "./db/open.ts";
import { crashReportsOperatorRoutes } from "./devices/devices.crash-reports.operator.routes.ts";
import { devicesOperatorRoutes } from "./devices/devices.operator.routes.ts";
import { devicesRoutes } from "./devices/devices.routes.ts";
import { pictureKind } from "./files/files.kinds.ts";
import { bytesPath, createFileLinks } from "./files/files.links.ts";
import { filesOperatorRoutes } from "./files/files.operator.routes.ts";
import { profilePicturesRoutes } from "./files/files.profile-pictures.routes.ts";
import { filesRoutes } from "./files/files.routes.ts";
import { tusEndpoint } from "./files/files.tus.ts";
import { readCertificate } from "./http/certificate.ts";
import { createDispatcher } from "./http/dispatch.ts";
import type { Endpoint } from "./http/endpoint.ts";
import { type Authenticate, createOperation } from "./http/operations.ts";
import { createPaging } from "./http/paging.ts";
import { createRateLimits, readRateLimits } from "./http/rate-limits.ts";
import type { Route } from "./http/route.ts";
import { createTransport, type Transport } from "./http/transport.ts";
import { createRunOnce } from "./idempotency/idempotency.ts";
import { identitiesRoutes } from "./identities/identities.routes.ts";
import type { Insight } from "./insight/insight.ts";
import { createSlowQueryLog } from "./insight/slow-query-log.ts";
import { type Clock, createClock } from "./lib/clock.ts";
import { createIdGenerator, type IdGenerator } from "./lib/ids.ts";
import { createLog, type Log } from "./log.ts";
import { createMailer } from "./mail/mailer.ts";
import { metadataOperatorRoutes } from "./metadata/metadata.operator.routes.ts";
import { metadataRoutes } from "./metadata/metadata.routes.ts";
import { type Compactor, createCompactor } from "./metrics/metrics.compactor.ts";
import { metricsOperatorRoutes } from "./metrics/metrics.operator.routes.ts";
import { createPseudonyms } from "./metrics/metrics.pseudonyms.ts";
import { metricsRoutes } from "./metrics/metrics.routes.ts";
import { moveHandlers } from "./moves/moves.arrival.ts";
import { operatorsRoutes } from "./operators/operators.routes.ts";
import { operatorsSessionsRoutes } from "./operators/operators.sessions.routes.ts";
import { createPictures, type Pictures } from "./pictures/pictures.ts";
import { createFuzzing, type Fuzzing } from "./privacy/fuzzing.ts";
import { createRegionCalls, type RegionCalls } from "./regions/regions.calls.ts";
import { type RegionHandlers, regionsEndpoint } from "./regions/regions.endpoint.ts";
import { createRegistrationElsewhere, registrationHandler } from "./regions/regions.registration.ts";
import { createRegions, type Regions } from "./regions/regions.ts";
import { loadSecrets } from "./server-secret.ts";
import { documentationPages } from "./service/documentation.ts";
import { serviceRoutes } from "./service/service.routes.ts";
import type { ByteStore } from "./storage/byte-store.ts";
import { openByteStore } from "./storage/open.ts";
import { traceStore } from "./storage/traced-store.ts";
import { loadOidcProvider } from "./tenancy/application-settings.ts";
import { createPolicies } from "./tenancy/policies.ts";
import { createUserExporters } from "./user-exporters.ts";
import { usersAccountRoutes } from "./users/users.account.routes.ts";
import { usersExportOperatorRoutes } from "./users/users.export.operator.routes.ts";
import { usersOperatorRoutes } from "./users/users.operator.routes.ts";
import { usersPasswordRoutes } from "./users/users.password.routes.ts";
import { usersRoutes } from "./users/users.routes.ts";
import { usersSessionsRoutes } from "./users/users.sessions.routes.ts";
import { usersSocialRoutes } from "./users/users.social.routes.ts";
import { usersTokensOperatorRoutes } from "./users/users.tokens.operator.routes.ts";
import { version } from "./version.ts";
import { createSiblings, type Siblings } from "./workers/siblings.ts";

/** A server that is ready to listen. */
export interface App {
  readonly transport: Transport;
  readonly database: Database;
  readonly config: Config;
  readonly routes: readonly Route[];
  readonly endpoints: readonly Endpoint[];
  readonly background: Background;
  readonly log: Log;
  readonly clock: Clock;
  readonly ids: IdGenerator;
  readonly fuzzing: Fuzzing;
  readonly passwords: Passwords;
  readonly audit: Audit;
  readonly tokenUses: TokenUses;
  readonly operatorTokens: OperatorTokens;
  readonly compactor: Compactor;
  readonly bytes: ByteStore;
  readonly pictures: Pictures;
  /** Undefined where nobody asks for it. */
  readonly insight: Insight | undefined;
  /** When all of it was done last, as `Date.now()` has it. */
  readonly maintenance: { finishedAt: number | undefined };
  readonly siblings: Siblings;
  readonly revocations: Revocations;
  readonly regions: Regions;
  readonly regionCalls: RegionCalls;
  /**
   * Refuses new requests, lets those in flight finish for at most `graceMs`, and closes the database. Can be called
   * again and then waits for the same end.
   */
  close(graceMs: number): Promise<void>;
}

/** What a test puts in the place of the real thing: time and the log's destination, nothing that we own. */
export interface AppOverrides {
  readonly clock?: Clock;
  readonly log?: Log;
}

/** Builds the whole server from its settings: the list of everything there is, in order. Start reading here. */
export async function buildApp(config: Config, overrides: AppOverrides = {}): Promise<App> {
  const log = overrides.log ?? createLog(config.logLevel);
  const clock = overrides.clock ?? createClock();
  const ids = createIdGenerator(() => clock.now());
  const siblings = createSiblings();
  const secrets = loadSecrets(config);
  const certificate = config.tls && (await readCertificate(config.tls)); // before anything is open that would have to be closed
  const opened = await openByteStore(config);
  const bytes = config.traces === undefined ? opened : traceStore(opened);
  const database = await openDatabase(config.databaseUrl, {
    connectionsMax: config.databaseConnectionsMax,
    timeoutMs: config.databaseTimeoutMs,
    slowQueryMs: config.slowQueryMs,
    onSlow: createSlowQueryLog(log),
    isPooled: config.databasePooled,
  });

  const maintenance: App["maintenance"] = { finishedAt: undefined };
  const lockOuts = { address: 0, name: 0 };
  const background = createBackground(log, database.afterwards);
  const tokens = createTokens({ ...config, secrets }, clock, ids);
  const tokenUses = createTokenUses(database);
  const policies = createPolicies({ secrets, database });
  const rateLimits = createRateLimits(readRateLimits(config), clock);
  const serverUrl = () => config.publicUrl ?? transport.url();
  const regions = createRegions(config, { reads: database.reads, serverUrl });
  const regionCalls = createRegionCalls(config, { clock, log });
  const registrationElsewhere = createRegistrationElsewhere({ regions, regionCalls, database });
  const callers = createCallers({ tokens, tokenUses, policies, regions, database, clock }, config);
  const operatorTokens = createOperatorTokens({ ...config, secrets });
  const operatorCallers = createOperatorCallers({ operatorTokens, database, background, clock }, config);
  const revocations = createRevocations(callers);
  const passwords = createPasswords(config, database);
  const audit = createAudit({ database, clock, ids, log });
  const signInGuard = createSignInGuard(
    {
      clock,
      onLockOut(lockOut) {
        lockOuts[lockOut.scope] += 1;
        log.warn(describeLockOut(lockOut), "sign-ins have to wait");
        audit.note(lockOutEvent(lockOut)).catch((err) => log.warn({ err }, "a lock-out was not noted"));
      },
    },
    config,
  );
  const paging = createPaging({ ...config, secrets });
  const fuzzing = createFuzzing({ database, ids });
  const pseudonyms = createPseudonyms(secrets);
  const compactor = createCompactor({ database, ids, clock, background });

  const pictures = createPictures(log);
  const idTokens = createIdTokens({ clock, log });
  const mailer = createMailer(config, { clock, log });

  const authenticate: Authenticate = (authorization, required) =>
    required === "operator"
      ? operatorCallers.authenticate(authorization)
      : callers.authenticate(authorization, required);
  const dispatcher = createDispatcher({
    beginTurn: callers.noticeRevocations,
    authenticate,
    headerBytesMax: config.headerBytesMax,
    log,
  });

  const wantsInsight = config.metricsToken !== undefined || config.metricsPort !== undefined;
  const insight = wantsInsight
    ? (await import("./insight/insight.ts")).createInsight(
        config,
        {
          version,
          describeOperation: (name) => describeOperation(name, routes, endpoints),
          database,
          passwords,
          callers,
          pictures,
          background,
          compactor,
          audit,
          lockOuts,
          maintenance,
        },
        siblings,
      )
    : undefined;
  const traces =
    config.traces === undefined
      ? undefined
      : (await import("./insight/traces.ts")).openTraces(config.traces, {
          version,
          log,
          describeOperation: (name) => describeOperation(name, routes, endpoints),
        });
  const fileLinks = createFileLinks({ ...config, secrets, clock, serverUrl });

  let isDraining = false;
  const services = {
    database,
    background,
    tokens,
    tokenUses,
    policies,
    rateLimits,
    regions,
    registrationElsewhere,
    revocations,
    passwords,
    audit,
    signInGuard,
    operatorTokens,
    paging,
    fuzzing,
    pseudonyms,
    compactor,
    bytes,
    pictures,
    fileLinks,
    serverUrl,
    pictureUrl: (applicationId: string, id: string) => fileLinks.urlOf(applicationId, bytesPath(pictureKind, id)),
    idTokens,
    findOidcProvider: (applicationId: string, name: string) => loadOidcProvider(applicationId, name, database.reads),
    mailer,
    dispatcher,
    observer: insight?.observer,
    log,
    limits: config,
    resetCodeLifetimeMs: config.resetCodeLifetimeMs,
    sessionMs: config.operatorSessionMs,
    sessionIdleMs: config.operatorIdleMs,
    clock,
    ids,
    siblings,
    userExporters: createUserExporters({ database, bytes, pseudonyms, clock }),
    version,
    isDraining: () => isDraining,
  };

  const routes: readonly Route[] = [
    ...devicesRoutes(services),
    ...usersSessionsRoutes(services),
    ...usersPasswordRoutes(services),
    ...usersSocialRoutes(services),
    ...usersRoutes(services),
    ...usersAccountRoutes(services),
    ...identitiesRoutes(services),
    ...checkinsRoutes(services),
    ...filesRoutes(services),
    ...profilePicturesRoutes(services),
    ...metadataRoutes(services),
    ...metricsRoutes(services),
    ...batchRoutes(services),
    ...operatorsSessionsRoutes(services),
    ...operatorsRoutes(services),
    ...auditOperatorRoutes(services),
    ...applicationsOperatorRoutes(services),
    ...applicationsElsewhereOperatorRoutes(services),
    ...usersOperatorRoutes(services),
    ...usersTokensOperatorRoutes(services),
    ...usersExportOperatorRoutes(services),
    ...devicesOperatorRoutes(services),
    ...checkinsOperatorRoutes(services),
    ...filesOperatorRoutes(services),
    ...metadataOperatorRoutes(services),
    ...crashReportsOperatorRoutes(services),
    ...metricsOperatorRoutes(services),
    ...serviceRoutes(services),
  ];

  const endpoints: readonly Endpoint[] = [tusEndpoint(services)];

  const runOnce = createRunOnce({ database, clock, secrets });
  const requireServed = regions.areSeveral ? policies.requireServed : undefined;
  const trail = createTrail({ audit, database });
  const operations = routes.map((route) => createOperation(route, { requireServed, runOnce, trail, rateLimits, log }));
  dispatcher.add(operations);
  const regionHandlers: RegionHandlers = {
    createApplication: creationHandler(services),
    deleteApplication: deletionHandler(services),
    ...moveHandlers({ ...services, secrets }),
    registerDevice: registrationHandler({
      regions,
      log,
      logSample: config.logSample,
      findOperation: (name) => operations.find(({ route }) => route.operation === name),
    }),
  };
  const transport = await createTransport({
    config,
    certificate,
    log,
    operations,
    endpoints,
    internalEndpoints: regions.areSeveral ? [regionsEndpoint(config, { handlers: regionHandlers, clock, log })] : [],
    pages: documentationPages({ routes, endpoints }, config.publicUrl),
    guardedPages: insight?.pages ?? [],
    observer: insight?.observer,
    tracer: traces?.tracer,
    beginTurn: callers.noticeRevocations,
    authenticate,
    rateLimits,
    requireServed,
    isDraining: services.isDraining,
  });

  let closing: Promise<void> | undefined;
  async function close(graceMs: number): Promise<void> {
    isDraining = true;
    const endBy = performance.now() + graceMs;
    await transport.drain(graceMs);
    await insight?.listener?.close();
    regionCalls.close();
    await background.stop(Math.max(endBy - performance.now(), backgroundGraceMsMin));
    await pictures.close();
    await tokenUses.save().catch((err) => log.warn({ err }, "when tokens were used last was not written down"));
    await audit.close().catch((err) => log.warn({ err }, "the last of the audit log was not written down"));
    await database.close();
    await traces?.close(Math.max(endBy - performance.now(), tracesGraceMsMin));
  }

  return {
    transport,
    database,
    config,
    routes,
    endpoints,
    background,
    log,
    clock,
    ids,
    fuzzing,
    passwords,
    audit,
    tokenUses,
    operatorTokens,
    compactor,
    bytes,
    pictures,
    insight,
    maintenance,
    siblings,
    revocations,
    regions,
    regionCalls,
    close: (graceMs) => {
      closing ??= close(graceMs);
      return closing;
    },
  };
}

/** Also when nobody waits for requests in flight, what was traced may be sent. */
const tracesGraceMsMin = 100;
const backgroundGraceMsMin = 1_000;

/** What is called by this name, for who reads numbers. */
function describeOperation(name: string, routes: readonly Route[], endpoints: readonly Endpoint[]) {
  const operations = [...routes, ...endpoints.flatMap((endpoint) => endpoint.operations)];
  const found = operations.find(({ operation }) => operation === name);
  return found && { method: found.method, route: found.path };
}

/** Not the name, which may be nobody's: the refused sign-ins before it tell the user, where there is one. */
function lockOutEvent({ applicationId, deviceId, address, scope, waitMs }: LockOut): AuditEvent {
  return {
    actor: deviceId === undefined ? { kind: "nobody" } : { kind: "device", id: deviceId },
    action: "lockOut",
    applicationId,
    call: { address, requestId: "" },
    details: { scope, waitMs },
  };
}

/** Without the name: it may be a password in the wrong field. */
function describeLockOut({ applicationId, deviceId, address, scope, waitMs }: LockOut) {
  return { application: applicationId, device: deviceId, address, scope, wait_ms: waitMs };
}

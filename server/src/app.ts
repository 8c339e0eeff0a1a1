import { applicationKeyOperations } from "./applications/applications.keys.operator.routes.ts";
import { applicationOperations } from "./applications/applications.operator.routes.ts";
import { remoteApplicationOperations } from "./applications/applications.remote.operator.routes.ts";
import { creationHandler, deletionHandler } from "./applications/applications.remote.ts";
import { applicationSettingsOperations } from "./applications/applications.settings.operator.routes.ts";
import { createActionLog } from "./audit/audit.action-log.ts";
import type { AuditEvent } from "./audit/audit.events.ts";
import { auditOperations } from "./audit/audit.operator.routes.ts";
import { type Audit, createAudit } from "./audit/audit.ts";
import { createCallers } from "./auth/caller.ts";
import type { Guessing } from "./auth/guess-watch.ts";
import { createIdTokens } from "./auth/oidc.ts";
import { createOperatorMarks } from "./auth/operator-marks.ts";
import { createOperatorTokens, type OperatorTokens } from "./auth/operator-tokens.ts";
import { createOperatorCallers } from "./auth/operators.ts";
import { createPasswordChanges } from "./auth/password-changes.ts";
import { createPasswords, type Passwords } from "./auth/passwords.ts";
import { createRevocations, type Revocations } from "./auth/revocations.ts";
import { createSignInGuard, type LockOut } from "./auth/sign-in-guard.ts";
import { createTokenUses, type TokenUses } from "./auth/token-uses.ts";
import { createTokens } from "./auth/tokens.ts";
import { type Background, createBackground } from "./background.ts";
import { batchOperations } from "./batch/batch.routes.ts";
import { checkinsOperatorRoutes } from "./checkins/checkins.operator.routes.ts";
import { checkinsRoutes } from "./checkins/checkins.routes.ts";
import type { Config } from "./config.ts";
import type { Database } from "./db/database.ts";
import { openDatabase } from "./db/open.ts";
import { crashReportOperatorOperations } from "./devices/devices.crash-reports.operator.routes.ts";
import { crashReportOperations } from "./devices/devices.crash-reports.routes.ts";
import { deviceOperatorOperations } from "./devices/devices.operator.routes.ts";
import { deviceOperations } from "./devices/devices.routes.ts";
import { pictureKind } from "./files/files.kinds.ts";
import { bytesPath, createFileLinks } from "./files/files.links.ts";
import { filesOperatorRoutes } from "./files/files.operator.routes.ts";
import { profilePicturesRoutes } from "./files/files.profile-pictures.routes.ts";
import { filesRoutes } from "./files/files.routes.ts";
import { tusEndpoint } from "./files/files.tus.ts";
import { readCertificate } from "./http/certificate.ts";
import { createDispatcher } from "./http/dispatch.ts";
import type { Endpoint } from "./http/endpoint.ts";
import { createInFlight } from "./http/in-flight.ts";
import { type Authenticate, createOperation } from "./http/operations.ts";
import { createPaging } from "./http/paging.ts";
import { createRateLimits, readRateLimits } from "./http/rate-limits.ts";
import type { Route } from "./http/route.ts";
import { createTransport, type Transport } from "./http/transport.ts";
import { createRunOnce } from "./idempotency/idempotency.ts";
import { identityOperations } from "./identities/identities.routes.ts";
import type { Insight } from "./insight/insight.ts";
import { createSlowQueryLog } from "./insight/slow-query-log.ts";
import { type ByteBudget, createByteBudget } from "./lib/byte-budget.ts";
import { type Clock, createClock } from "./lib/clock.ts";
import { createIdGenerator, type IdGenerator } from "./lib/ids.ts";
import { createLog, type Log } from "./log.ts";
import { createDelivery, type Delivery } from "./mail/delivery.ts";
import { createMailer } from "./mail/mailer.ts";
import { createMails } from "./mail/outbox.ts";
import { metadataOperatorRoutes } from "./metadata/metadata.operator.routes.ts";
import { metadataRoutes } from "./metadata/metadata.routes.ts";
import { type Compactor, createCompactor } from "./metrics/metrics.compactor.ts";
import { createKeyLimits } from "./metrics/metrics.key-limits.ts";
import { metricsOperatorRoutes } from "./metrics/metrics.operator.routes.ts";
import { metricsRoutes } from "./metrics/metrics.routes.ts";
import { createSaltedHashes } from "./metrics/metrics.salted-hashes.ts";
import { createMetricRoom } from "./metrics/metrics.stored-bytes.ts";
import { moveHandlers } from "./moves/moves.import.ts";
import { operatorsRoutes } from "./operators/operators.routes.ts";
import { operatorsSessionsRoutes } from "./operators/operators.sessions.routes.ts";
import { createLookUp, type LookUp } from "./outgoing/look-up.ts";
import { createOutgoing } from "./outgoing/outgoing.ts";
import { createPictures, type Pictures } from "./pictures/pictures.ts";
import { createFuzzing, type Fuzzing } from "./privacy/fuzzing.ts";
import { createRegionCalls, type RegionCalls } from "./regions/regions.calls.ts";
import { type RegionHandlers, regionsEndpoint } from "./regions/regions.endpoint.ts";
import { createRemoteRegistration, registrationHandler } from "./regions/regions.registration.ts";
import { createRegions, type Regions } from "./regions/regions.ts";
import { loadSecrets } from "./server-secret.ts";
import { documentationPages } from "./service/documentation.ts";
import { landingPage } from "./service/landing.ts";
import { serviceOperations } from "./service/service.routes.ts";
import type { Services } from "./services.ts";
import type { ByteStore } from "./storage/byte-store.ts";
import { openByteStore } from "./storage/open.ts";
import { createStorageHealth } from "./storage/storage-health.ts";
import { traceStore } from "./storage/traced-store.ts";
import { loadApplicationSettings, loadOidcProvider } from "./tenancy/application-settings.ts";
import { createPolicies, type Policies } from "./tenancy/policies.ts";
import { createSettingsSealer, type SettingsSealer } from "./tenancy/sealed-settings.ts";
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
import { createPeers, type Peers } from "./workers/peers.ts";

/** A server that is ready to listen. */
export interface App {
  readonly transport: Transport;
  /** The bytes that requests in flight hold in memory. */
  readonly bytesInFlight: Pick<ByteBudget, "heldBytes" | "heldBytesMax">;
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
  readonly delivery: Delivery;
  readonly policies: Policies;
  readonly settingsSealer: SettingsSealer;
  /** Undefined when no metrics consumer is configured. */
  readonly insight: Insight | undefined;
  /** When this process last finished a round, in `Date.now()` milliseconds. */
  readonly maintenance: { finishedAt: number | undefined };
  readonly peers: Peers;
  readonly revocations: Revocations;
  readonly regions: Regions;
  readonly regionCalls: RegionCalls;
  /**
   * Refuses new requests, lets requests in flight finish for at most `graceMs`, and closes the database. Further calls
   * wait for the same shutdown.
   */
  close(graceMs: number): Promise<void>;
}

/** What tests replace: the clock, the destination of the log and the DNS resolver. Never code of our own. */
export interface AppOverrides {
  readonly clock?: Clock;
  readonly log?: Log;
  readonly lookUp?: LookUp;
}

/** Wires up the whole server from its settings, in dependency order. Start reading here. */
export async function buildApp(config: Config, overrides: AppOverrides = {}): Promise<App> {
  const log = overrides.log ?? createLog(config.logLevel);
  const clock = overrides.clock ?? createClock();
  const ids = createIdGenerator(() => clock.now());
  const peers = createPeers();
  const secrets = loadSecrets(config);
  const certificate = config.tls && (await readCertificate(config.tls)); // first, because nothing has to be closed when it fails
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
  const lockOuts = { address: 0, origin: 0 };
  const guessings = { user: 0, operator: 0 };
  const background = createBackground(log, database.afterwards);
  const tokens = createTokens({ ...config, secrets }, clock, ids);
  const tokenUses = createTokenUses(database);
  const policies = createPolicies({ secrets, database });
  const rateLimits = createRateLimits(readRateLimits(config), clock);
  const byteBudget = createByteBudget(config.inFlightBytesMax);
  const inFlight = createInFlight({
    budget: byteBudget,
    bufferedBytes: bytes.bufferedBytes,
    callerUploadsMax: config.rateLimits ? config.callerUploadsMax : undefined,
  });
  const serverUrl = () => config.publicUrl ?? transport.url();
  const regions = createRegions(config, { reads: database.reads, serverUrl });
  const regionCalls = createRegionCalls(config, { clock, log });
  const remoteRegistration = createRemoteRegistration({ regions, regionCalls, database });
  const callers = createCallers({ tokens, tokenUses, policies, regions, database, clock }, config);
  const operatorTokens = createOperatorTokens({ ...config, secrets });
  const operatorMarks = createOperatorMarks({ ...config, secrets }, clock);
  const operatorCallers = createOperatorCallers({ operatorTokens, database, background, clock }, config);
  const revocations = createRevocations(callers);
  const passwords = createPasswords(config, database);
  const passwordChanges = createPasswordChanges(clock, config);
  const audit = createAudit({ database, clock, ids, log });
  const signInGuard = createSignInGuard(
    {
      clock,
      onLockOut(lockOut) {
        lockOuts[lockOut.scope] += 1;
        log.warn(describeLockOut(lockOut), "sign-ins are delayed");
        audit.note(lockOutEvent(lockOut)).catch((err) => log.warn({ err }, "a lock-out could not be audited"));
      },
      onGuessing(guessing) {
        guessings[guessing.applicationId === undefined ? "operator" : "user"] += 1;
        log.warn({ application: guessing.applicationId, failures: guessing.failures }, "password guessing detected");
        audit.note(guessingEvent(guessing)).catch((err) => log.warn({ err }, "password guessing could not be audited"));
      },
    },
    config,
  );
  const paging = createPaging({ ...config, secrets });
  const fuzzing = createFuzzing({ database, ids });
  const saltedHashes = createSaltedHashes(secrets);
  const compactor = createCompactor({ database, ids, clock, background });
  const keyLimits = createKeyLimits(config, { database, clock });
  const metricRoom = createMetricRoom(config, { database, clock });

  const pictures = createPictures(log);
  const outgoing = createOutgoing(config, { lookUp: overrides.lookUp ?? createLookUp() });
  const idTokens = createIdTokens({ outgoing, clock, log });
  const mailer = createMailer(config, { outgoing, clock, log });
  const settingsSealer = createSettingsSealer(secrets);
  const delivery = createDelivery(config, { database, background, mailer, settingsSealer, secrets, clock, log });
  const mails = createMails(config, { delivery, secrets, clock, ids, log });

  const authenticate: Authenticate = (authorization, required) =>
    required === "operator"
      ? operatorCallers.authenticate(authorization)
      : callers.authenticate(authorization, required);
  const dispatcher = createDispatcher({
    beginTick: callers.noticeRevocations,
    authenticate,
    headerBytesMax: config.headerBytesMax,
    log,
  });

  const storageHealth = createStorageHealth(config, { bytes, log });
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
          mails,
          delivery,
          lockOuts,
          guessings,
          maintenance,
          storageHealth,
        },
        peers,
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
  const services: Services = {
    config,
    database,
    background,
    tokens,
    tokenUses,
    policies,
    settingsSealer,
    rateLimits,
    regions,
    remoteRegistration,
    revocations,
    passwords,
    passwordChanges,
    audit,
    signInGuard,
    operatorTokens,
    operatorMarks,
    paging,
    fuzzing,
    saltedHashes,
    compactor,
    keyLimits,
    metricRoom,
    bytes,
    pictures,
    fileLinks,
    serverUrl,
    pictureUrl: (applicationId: string, id: string) => fileLinks.urlOf(applicationId, bytesPath(pictureKind, id)),
    outgoing,
    idTokens,
    findOidcProvider: (applicationId: string, name: string) => loadOidcProvider(applicationId, name, database.reads),
    isDebugged: async (applicationId: string) =>
      (await loadApplicationSettings(applicationId, database.reads)).debug === true,
    mailer,
    mails,
    dispatcher,
    observer: insight?.observer,
    log,
    clock,
    ids,
    peers,
    userExporters: createUserExporters({ database, bytes, saltedHashes, clock }),
    storageHealth,
    isDraining: () => isDraining,
  };

  const legacy = {
    ...services,
    limits: config,
    resetCodeLifetimeMs: config.resetCodeLifetimeMs,
    sessionMs: config.operatorSessionMs,
    sessionIdleMs: config.operatorIdleMs,
    version,
  };
  const routes: readonly Route[] = [
    ...deviceOperations.map((declare) => declare(services)),
    ...crashReportOperations.map((declare) => declare(services)),
    ...usersSessionsRoutes(legacy),
    ...usersPasswordRoutes(legacy),
    ...usersSocialRoutes(legacy),
    ...usersRoutes(legacy),
    ...usersAccountRoutes(legacy),
    ...identityOperations.map((declare) => declare(services)),
    ...checkinsRoutes(legacy),
    ...filesRoutes(legacy),
    ...profilePicturesRoutes(legacy),
    ...metadataRoutes(legacy),
    ...metricsRoutes(legacy),
    ...batchOperations.map((declare) => declare(services)),
    ...operatorsSessionsRoutes(legacy),
    ...operatorsRoutes(legacy),
    ...auditOperations.map((declare) => declare(services)),
    ...applicationOperations.map((declare) => declare(services)),
    ...applicationKeyOperations.map((declare) => declare(services)),
    ...applicationSettingsOperations.map((declare) => declare(services)),
    ...remoteApplicationOperations.map((declare) => declare(services)),
    ...usersOperatorRoutes(legacy),
    ...usersTokensOperatorRoutes(legacy),
    ...usersExportOperatorRoutes(legacy),
    ...deviceOperatorOperations.map((declare) => declare(services)),
    ...checkinsOperatorRoutes(legacy),
    ...filesOperatorRoutes(legacy),
    ...metadataOperatorRoutes(legacy),
    ...crashReportOperatorOperations.map((declare) => declare(services)),
    ...metricsOperatorRoutes(legacy),
    ...serviceOperations.map((declare) => declare(services)),
  ];

  const endpoints: readonly Endpoint[] = [tusEndpoint(legacy)];

  const runOnce = createRunOnce({ database, clock, secrets, limits: config });
  const requireServed = regions.areSeveral ? policies.requireServed : undefined;
  const actionLog = createActionLog({ audit, database });
  const operations = routes.map((route) =>
    createOperation(route, { requireServed, runOnce, actionLog, rateLimits, log }),
  );
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
    landingPage,
    guardedPages: insight?.pages ?? [],
    observer: insight?.observer,
    tracer: traces?.tracer,
    beginTick: callers.noticeRevocations,
    authenticate,
    rateLimits,
    inFlight,
    requireServed,
    isDraining: services.isDraining,
  });

  let closing: Promise<void> | undefined;
  async function close(graceMs: number): Promise<void> {
    isDraining = true;
    const endBy = performance.now() + graceMs;
    await transport.drain(graceMs);
    await insight?.listener?.close();
    await storageHealth.close();
    regionCalls.close();
    await background.stop(Math.max(endBy - performance.now(), backgroundGraceMsMin));
    await pictures.close();
    await tokenUses.save().catch((err) => log.warn({ err }, "the last use of tokens could not be saved"));
    await audit.close().catch((err) => log.warn({ err }, "the last audit log entries could not be saved"));
    await database.close();
    await traces?.close(Math.max(endBy - performance.now(), tracesGraceMsMin));
  }

  return {
    transport,
    database,
    config,
    bytesInFlight: byteBudget,
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
    delivery,
    policies,
    settingsSealer,
    insight,
    maintenance,
    peers,
    revocations,
    regions,
    regionCalls,
    close: (graceMs) => {
      closing ??= close(graceMs);
      return closing;
    },
  };
}

/** Traces may be sent for at least this long, even when the shutdown has no grace period. */
const tracesGraceMsMin = 100;
const backgroundGraceMsMin = 1_000;

/** The method and route of an operation, for the labels of metrics. */
function describeOperation(name: string, routes: readonly Route[], endpoints: readonly Endpoint[]) {
  const operations = [...routes, ...endpoints.flatMap((endpoint) => endpoint.operations)];
  const found = operations.find(({ operation }) => operation === name);
  return found && { method: found.method, route: found.path };
}

/** Omits the sign-in name, which may belong to no user; the audited sign-in failures before it name the user. */
function lockOutEvent({ applicationId, deviceId, address, scope, waitMs }: LockOut): AuditEvent {
  return {
    actor: deviceId === undefined ? { kind: "nobody" } : { kind: "device", id: deviceId },
    action: "lockOut",
    applicationId,
    call: { address, requestId: "" },
    details: { scope, waitMs },
  };
}

/** Omits the sign-in name, as `lockOutEvent` does. */
function guessingEvent({ applicationId, failures }: Guessing): AuditEvent {
  return {
    actor: { kind: "nobody" },
    action: "passwordGuessing",
    applicationId,
    call: { address: "", requestId: "" },
    details: { failures },
  };
}

/** Omits the sign-in name, which may be a password in the wrong field. */
function describeLockOut({ applicationId, deviceId, address, scope, waitMs }: LockOut) {
  return { application: applicationId, device: deviceId, address, scope, wait_ms: waitMs };
}

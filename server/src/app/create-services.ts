import { existsSync } from "node:fs";
import { createSignInAlerts, type SignInAlerts } from "../audit/audit.sign-in-alerts.ts";
import { createAudit } from "../audit/audit.ts";
import { type Callers, createCallers } from "../auth/caller.ts";
import { createSignInGuard } from "../auth/guard/sign-in-guard.ts";
import { createNewPasswords } from "../auth/new-passwords.ts";
import { createIdTokens } from "../auth/oidc.ts";
import { createOperatorMarks } from "../auth/operator-marks.ts";
import { createOperatorSessionCookies } from "../auth/operator-session-cookies.ts";
import { createOperatorTokens } from "../auth/operator-tokens.ts";
import { createOperatorCallers } from "../auth/operators.ts";
import { createPasswordChanges } from "../auth/password-changes.ts";
import { createPasswords } from "../auth/passwords.ts";
import { createRevocations } from "../auth/revocations.ts";
import { createTokenUses } from "../auth/token-uses.ts";
import { createTokens } from "../auth/tokens.ts";
import type { Config } from "../config/config.ts";
import { createLog, type Log } from "../config/log.ts";
import { loadSecrets, openSecrets, secretFile } from "../config/server-secret.ts";
import { createPaging } from "../contract/paging.ts";
import type { Database } from "../db/database.ts";
import { findRecordedSecret } from "../db/deployment-facts.ts";
import { openDatabase } from "../db/open.ts";
import { createEventLog } from "../event-log/event-log.ts";
import { createLogFollower } from "../event-log/follower.ts";
import { createEventRecorder } from "../event-log/recorder.ts";
import { createOperatorPresenter } from "../events/events.operator.reading.ts";
import { createStreams } from "../events/events.streams.ts";
import { createTickets } from "../events/events.tickets.ts";
import { pictureKind } from "../files/files.kinds.ts";
import { bytesPath, createFileLinks } from "../files/files.links.ts";
import { createLookUp, type LookUp } from "../http/outgoing/look-up.ts";
import { createOutgoing } from "../http/outgoing/outgoing.ts";
import { createRouteTable, type RouteTable } from "../http/route-table.ts";
import { createBackground } from "../jobs/background.ts";
import { createJobs, type Jobs } from "../jobs/job.ts";
import { type Clock, createClock } from "../lib/clock.ts";
import { createIdGenerator } from "../lib/ids.ts";
import { createAddressRule } from "../lib/ip-addresses.ts";
import { createSecretRing, type OwnSecrets } from "../lib/secret-ring.ts";
import { createSigner } from "../lib/signer.ts";
import { createLimitCounters, type LimitCounters } from "../limits/counters.ts";
import { createLocationFinder } from "../locations/locations.ids.ts";
import { createDelivery } from "../mail/delivery.ts";
import { createMailer } from "../mail/mailer.ts";
import { createOutbox } from "../mail/outbox.ts";
import { createCompactor } from "../metrics/engine/compactor.ts";
import { createKeyLimits } from "../metrics/engine/keys.ts";
import { createSaltedHashes } from "../metrics/engine/salted-hashes.ts";
import { createMetricBytes } from "../metrics/engine/stored-bytes.ts";
import { createSlowQueryLog } from "../monitoring/slow-query-log.ts";
import { createDispatcher } from "../operations/dispatch.ts";
import type { Authenticate } from "../operations/perform.ts";
import { readRateLimits } from "../operations/rate-limit-settings.ts";
import { createRateLimits } from "../operations/rate-limits.ts";
import type { Services } from "../operations/services.ts";
import { createRequests } from "../operators/requests.ts";
import { createPictures } from "../pictures/pictures.ts";
import { createFuzzing } from "../privacy/fuzzing.ts";
import { createRegionCalls } from "../regions/regions.calls.ts";
import { createRemoteRegistration } from "../regions/regions.registration.ts";
import { createRegions } from "../regions/regions.ts";
import { createStatistics } from "../statistics/statistics.ts";
import { openByteStore, traceStore } from "../storage/open.ts";
import { createStorageHealth } from "../storage/storage-health.ts";
import { loadApplicationSettings, loadOidcProvider } from "../tenancy/application-settings.ts";
import { createPolicies } from "../tenancy/policies.ts";
import { createSettingsSealer } from "../tenancy/sealed-settings.ts";
import { createResetDelays } from "../users/users.password.delays.ts";
import { createReuseGuard, type ReusedToken } from "../users/users.signing.ts";
import { type RunnerBounds, WebhookRunner } from "../webhooks/webhooks.runner.ts";
import { createWebhookSealer } from "../webhooks/webhooks.secrets.ts";
import { createPeers } from "../workers/peers.ts";
import { createUserExporters } from "./user-exporters.ts";

/**
 * The dependencies that tests replace: the clock, the log and the DNS resolver. Tests never replace our own code.
 */
export interface ServiceOverrides {
  readonly clock?: Clock;
  readonly log?: Log;
  readonly lookUp?: LookUp;
  /** Replaces the folder of the built console. */
  readonly consoleFolder?: string;
  readonly webhookBounds?: Partial<RunnerBounds>;
}

/** All services, including some that only this folder uses. */
export interface OwnServices extends Omit<Services, "observer" | "isDraining" | "ownReports"> {
  readonly secrets: OwnSecrets;
  readonly callers: Callers;
  readonly authenticate: Authenticate;
  /** Filled by `createTransport`. */
  readonly routeTable: RouteTable;
  readonly signInAlerts: SignInAlerts;
  readonly limitCounters: LimitCounters;
  readonly jobs: Jobs;
}

/**
 * Creates the services of a process from its settings, in dependency order.
 *
 * @param serverUrl the URL at which the client of the current call reaches the service; outside of calls, a URL for any client
 */
export async function createServices(
  config: Config,
  serverUrl: () => string,
  overrides: ServiceOverrides = {},
): Promise<OwnServices> {
  const log = overrides.log ?? createLog(config.logLevel);
  const clock = overrides.clock ?? createClock();
  const ids = createIdGenerator(() => clock.now());
  const peers = createPeers();
  const opened = await openByteStore(config);
  const bytes = config.traces === undefined ? opened : traceStore(opened);
  const database = await openDatabase(config.databaseUrl, {
    connectionsMax: config.databaseConnectionsMax,
    timeoutMs: config.databaseTimeoutMs,
    slowQueryMs: config.slowQueryMs,
    onSlow: createSlowQueryLog(log),
    isPooled: config.databasePooled,
  });
  const secrets = await openSecretsOf(config, database);

  const background = createBackground(log, database.afterCommit);
  const jobs = createJobs({ database, clock, log });
  const policies = createPolicies({ secrets, database });
  const limitCounters = createLimitCounters(config, { database, secrets, log });
  const statistics = createStatistics({ database, clock, log });
  const rateLimits = createRateLimits(readRateLimits(config), clock, limitCounters, statistics);
  const regions = createRegions(config, { reads: database.reads, serverUrl });
  const regionCalls = createRegionCalls(config, { clock, log });
  const remoteRegistration = createRemoteRegistration({ regions, regionCalls, database });
  const refresh = () => callers.noticeRevocations();
  const eventServices = createEventServices(config, { database, clock, ids, secrets, log, refresh }, overrides);
  const audit = createAudit({ database, clock, ids, jobs });
  const authentication = createAuthentication(config, {
    ...{ secrets, policies, regions, database, background, clock, ids },
    ...{ limitCounters, audit, log, events: eventServices.events },
  });
  const { callers, authenticate } = authentication;
  const signInAlerts = createSignInAlerts({ audit, log });
  const signInGuard = createSignInGuard({ clock, counters: limitCounters, ...signInAlerts }, config);
  const requests = createRequests({ peers, isOn: config.console });
  const paging = createPaging({ ...config, secrets });
  const fuzzing = createFuzzing({ database, ids });
  const metrics = createMetricServices(config, { secrets, database, ids, clock, background });

  const pictures = createPictures(log);
  const outgoingServices = createOutgoingServices(
    config,
    { database, background, secrets, clock, ids, log },
    overrides,
  );
  const dispatching = createDispatching(config, { callers, authenticate, log });
  const { dispatcher } = dispatching;
  const streaming = { ...eventServices, clock, database, dispatcher, log, policies, secrets, refresh };
  const storageHealth = createStorageHealth(config, { bytes, log });
  const fileLinks = createFileLinks({ ...config, secrets, clock, serverUrl });

  return {
    config,
    database,
    background,
    ...authentication,
    policies,
    rateLimits,
    regions,
    remoteRegistration,
    resetDelays: createResetDelays(),
    audit,
    statistics,
    requests,
    signInGuard,
    paging,
    fuzzing,
    ...eventServices,
    streams: createStreams(config, streaming),
    tickets: createTickets(streaming),
    findLocation: createLocationFinder({ database }),
    ...metrics,
    bytes,
    pictures,
    fileLinks,
    serverUrl,
    pictureUrl: (applicationId: string, id: string) => fileLinks.urlOf(applicationId, bytesPath(pictureKind, id)),
    ...outgoingServices,
    webhookSealer: createWebhookSealer(secrets),
    codeSigner: createSigner(secrets, "verify code"),
    presentEventsOf: (locations: "true" | "shown") => createOperatorPresenter({ locations }, { dispatcher }),
    findOidcProvider: (applicationId: string, name: string) => loadOidcProvider(applicationId, name, database.reads),
    isDebugged: async (applicationId: string) =>
      (await loadApplicationSettings(applicationId, database.reads)).debug === true,
    ...dispatching,
    log,
    clock,
    ids,
    peers,
    userExporters: createUserExporters({ database, bytes, saltedHashes: metrics.saltedHashes, clock }),
    storageHealth,
    secrets,
    signInAlerts,
    limitCounters,
    jobs,
    regionCalls,
  };
}

/**
 * Loads the secrets. Creates their file only for a new deployment. The fingerprints are compared later, when the process
 * joins the deployment, because that waits for an unreachable database.
 *
 * @throws PlainFailure if the file is missing although the database exists
 */
async function openSecretsOf(config: Config, database: Database): Promise<OwnSecrets> {
  if (config.secrets !== undefined || existsSync(secretFile(config.dataDir)))
    return createSecretRing(loadSecrets(config));
  try {
    return openSecrets(config, await findRecordedSecret(database));
  } catch (error) {
    await database.close();
    throw error;
  }
}

/** The services that authenticate callers and revoke their tokens. */
function createAuthentication(
  config: Config,
  services: Pick<
    OwnServices,
    | ("secrets" | "policies" | "regions" | "database" | "background" | "clock" | "ids" | "limitCounters" | "events")
    | ("audit" | "log")
  >,
) {
  const { secrets, policies, regions, database, background, clock, ids, limitCounters, events } = services;
  const tokens = createTokens({ ...config, secrets }, clock, ids);
  const tokenUses = createTokenUses(database);
  const endReused = (token: ReusedToken) => reuseGuard(token);
  const callers = createCallers({ tokens, tokenUses, policies, regions, database, clock, endReused }, config);
  const operatorTokens = createOperatorTokens({ ...config, secrets });
  const operatorMarks = createOperatorMarks({ ...config, secrets }, clock);
  const operatorSessionCookies = createOperatorSessionCookies(config);
  const operatorCallers = createOperatorCallers(
    { operatorTokens, operatorSessionCookies, database, background, clock },
    config,
  );
  const revocations = createRevocations(callers, events);
  const reuseGuard = createReuseGuard({ ...services, revocations });
  const passwords = createPasswords(config, database);
  const passwordChanges = createPasswordChanges({ clock, counters: limitCounters }, config);
  const authenticate: Authenticate = (authorization, required, cookieCall) =>
    required === "operator"
      ? operatorCallers.authenticate(authorization, cookieCall)
      : callers.authenticate(authorization, required);
  return {
    tokens,
    tokenUses,
    callers,
    operatorTokens,
    operatorMarks,
    operatorSessionCookies,
    operatorCallers,
    revocations,
    passwords,
    passwordChanges,
    authenticate,
  };
}

/** The event log of each application, and the services that follow it. */
function createEventServices(
  config: Config,
  services: Pick<OwnServices, "database" | "clock" | "ids" | "secrets" | "log"> & { refresh(): void },
  { webhookBounds }: ServiceOverrides,
) {
  const eventLog = createEventLog(config, services);
  const eventFollower = createLogFollower(config, { ...services, eventLog });
  const webhookRunner = new WebhookRunner(webhookBounds);
  function touch(applicationId: string): void {
    eventFollower.touch(applicationId);
    webhookRunner.notice(applicationId);
  }
  const events = createEventRecorder({ ...services, touch });
  return { eventLog, eventFollower, webhookRunner, events };
}

/** The services that call identity providers, mail servers and other servers of applications. */
function createOutgoingServices(
  config: Config,
  services: Pick<OwnServices, "database" | "background" | "secrets" | "clock" | "ids" | "log">,
  { lookUp = createLookUp() }: ServiceOverrides,
) {
  const outgoing = createOutgoing(config, { lookUp });
  const idTokens = createIdTokens({ ...services, outgoing });
  const mailer = createMailer(config, { ...services, outgoing });
  const settingsSealer = createSettingsSealer(services.secrets);
  const delivery = createDelivery(config, { ...services, mailer, settingsSealer });
  const mails = createOutbox(config, { ...services, delivery });
  const newPasswords = createNewPasswords(config, { ...services, outgoing });
  return { outgoing, newPasswords, idTokens, mailer, settingsSealer, delivery, mails };
}

/** The route table, and the dispatcher of calls within the process. */
function createDispatching(config: Config, services: Pick<OwnServices, "callers" | "authenticate" | "log">) {
  const { callers, authenticate, log } = services;
  const routeTable = createRouteTable(config.headerBytesMax);
  const dispatcher = createDispatcher({
    findOperation: routeTable.findOperation,
    verbsOf: routeTable.verbsOf,
    beginTick: callers.noticeRevocations,
    authenticate,
    mayOperate: createAddressRule(config.operatorAddresses),
    headerBytesMax: config.headerBytesMax,
    log,
  });
  return { routeTable, dispatcher };
}

function createMetricServices(
  config: Config,
  services: Pick<OwnServices, "secrets" | "database" | "ids" | "clock" | "background">,
) {
  const { secrets, database, ids, clock, background } = services;
  const saltedHashes = createSaltedHashes(secrets);
  const compactor = createCompactor({ database, ids, clock, background });
  const keyLimits = createKeyLimits(config, { database, clock });
  const metricBytes = createMetricBytes(config, { database, clock });
  return { saltedHashes, compactor, keyLimits, metricBytes };
}

/** @param graceMs the time limit for background work */
export async function closeServices(services: OwnServices, graceMs: number): Promise<void> {
  const { storageHealth, regionCalls, background, pictures, tokenUses, audit, statistics, database, log } = services;
  await services.webhookRunner.stop(graceMs);
  services.eventFollower.close();
  services.eventLog.close();
  await storageHealth.close();
  regionCalls.close();
  await background.stop(graceMs);
  await pictures.close();
  await tokenUses.save().catch((err) => log.warn({ err }, "the last use of tokens could not be saved"));
  await audit.close().catch((err) => log.warn({ err }, "the last audit log entries could not be saved"));
  await statistics.save();
  await database.close();
}

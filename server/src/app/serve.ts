import { insertApplication, type NewApplication } from "../applications/applications.store.ts";
import type { Config } from "../config/config.ts";
import { PlainFailure } from "../config/failure.ts";
import { createHeldLog, createLog } from "../config/log.ts";
import { isLoopback } from "../config/networks.ts";
import { build } from "../config/version.ts";
import { workerNumber } from "../config/worker-number.ts";
import { lockName } from "../db/lock.ts";
import { migrate } from "../db/migrate.ts";
import { deploymentFacts } from "../db/migrations/0062-deployment-facts.ts";
import { findDatabaseProblem } from "../db/open.ts";
import { startHeartbeat } from "../deployment/heartbeat.ts";
import { joinDeployment, requireFitting } from "../deployment/joining.ts";
import { startPlacing } from "../event-log/placing.ts";
import { compileAddressPattern, reservePorts } from "../http/listening.ts";
import { onStop } from "../lib/stop-signals.ts";
import { isOutputStored } from "../lib/stored-output.ts";
import { startDelivery } from "../mail/delivery.ts";
import { findMailProblem } from "../mail/transport.ts";
import { type NewOperator, newOperator } from "../operators/operators.new.ts";
import { hasOperators, insertOperator } from "../operators/operators.store.ts";
import { startStatistics } from "../statistics/statistics.ts";
import { findStoreProblem } from "../storage/store-problem.ts";
import { type ApplicationSettings, updateApplicationSettings } from "../tenancy/application-settings.ts";
import { onSupervisorMessage, sendToSupervisor } from "../workers/worker.ts";
import { type App, buildApp } from "./app.ts";
import { startMaintenance } from "./maintenance.ts";
import { beginThrowaway } from "./throwaway.ts";

/** The delay of background work after the start, so that it does not compete with the first requests. */
const firstRequestsMs = 200;

export interface StartOptions {
  /**
   * Prints the credentials of a first start as a line of JSON. Workers inherit the option from the supervisor's arguments.
   */
  readonly isJson?: boolean;
  /** Also stops when the parent program exits, and deletes the data on exit. */
  readonly isThrowaway?: boolean;
  /** Continues with the data of a killed throwaway server. */
  readonly isResumed?: boolean;
}

/** Serves until SIGTERM or SIGINT, then finishes the requests in flight. Resolves when the server listens. */
export async function serve(
  config: Config,
  { isJson = false, isThrowaway = false, isResumed = false }: StartOptions = {},
): Promise<void> {
  // Reserved before any file or table is created.
  const releasePorts = await reservePorts(ownPorts(config));
  // Held back, because the credentials must be the first line of standard output.
  const isLogHeld = isJson || isThrowaway;
  const { log, release: releaseLog } = isLogHeld
    ? createHeldLog(config.logLevel)
    : { log: createLog(config.logLevel), release() {} };
  const throwaway = isThrowaway ? beginThrowaway(config, { isJson, isResumed }) : undefined;
  compileAddressPattern();
  const app = await buildApp(config, { log }).catch(async (error) => {
    if (throwaway === undefined) releaseLog();
    await releasePorts();
    throw error;
  });
  const { transport } = app;
  const stopping = Promise.withResolvers<string>();
  if (config.tls !== undefined) process.on("SIGHUP", () => transport.reloadCertificate());
  try {
    await checkDatabase(config);
    await checkStore(config, app);
    const firstStart = throwaway === undefined ? ofDeployment() : ofThrowaway;
    const { demo, creatingOwner } = await migrateFirst(config, app, firstStart);
    onStop(stopping.resolve); // from here on there may be requests in flight
    await releasePorts();
    const listening = transport.listen(config.host, config.port);
    listening.catch(() => {}); // thrown below
    // The server answers requests while the password of the first operator is hashed.
    const first: FirstStart = { demo, owner: await creatingOwner };
    // The credentials are shown only once, so print them before anything else can fail.
    if (throwaway === undefined) process.stdout.write(isJson ? firstAsJson(first) : describeFirst(first));
    await listening;
    const url = config.publicUrl ?? transport.url();
    throwaway?.announce(transport.url(), createdAtFirst(first));
    releaseLog();
    throwaway?.onAbandoned(() => stopping.resolve("disconnect"));
    const metricsPort = await app.insight?.listener?.listen(config.metricsHost, config.metricsPort ?? 0);
    log.info({ url, docs: `${url}/_/docs`, metrics_port: metricsPort, version: build }, "listening");
    if (!isJson && throwaway === undefined) process.stdout.write(suggestCalls(url, first, config.console));
    logConsole(config, url, app);
    warnOfPublicUrl(config, app);
  } catch (error) {
    onStop(() => process.exit(1));
    if (throwaway === undefined) releaseLog();
    await releasePorts();
    await app.close(0);
    throw error;
  }
  const maintenance = startMaintenance(app);
  const statistics = startStatistics(app);
  const placing = startPlacing(app);
  const savingUses = app.jobs.start({
    name: "token uses",
    everyMs: 60_000,
    failure: "the last uses of tokens could not be saved, which is retried in a minute",
    run: () => app.tokenUses.save(),
  });
  let early: readonly { stop(): Promise<void> }[] = [];
  const starting = setTimeout(() => {
    early = [startDelivery(app), startHeartbeat(app)];
  }, firstRequestsMs);
  app.webhookRunner.start(app);

  async function stop(signal: string): Promise<void> {
    log.info({ signal }, "shutting down");
    clearTimeout(starting);
    statistics.stop();
    await Promise.all([maintenance, placing, savingUses, ...early].map((each) => each.stop()));
    await app.close(config.shutdownGraceMs);
    log.info("stopped");
    log.flush(() => process.exit(0));
  }
  onSupervisorMessage("stop", () => stopping.resolve("stop"));
  stopping.promise.then(stop);
  sendToSupervisor({ kind: "listening" });
  void warnOfMailServer(config, app);
}

/** The addresses on which this process listens; empty for a worker, which shares the sockets of its supervisor. */
function ownPorts({ host, port, metricsHost, metricsPort = 0 }: Config) {
  return workerNumber === undefined
    ? [
        { host, port },
        { host: metricsHost, port: metricsPort },
      ]
    : [];
}

function warnOfPublicUrl({ publicUrl, host }: Config, { log }: App): void {
  if (publicUrl !== undefined || isLoopback(host) || (workerNumber !== undefined && workerNumber > 1)) return;
  log.warn(
    "PUBLIC_URL is not set: links have the address that a client used, in events and webhooks that of this machine",
  );
}

/** Logs the addresses from which operators are accepted, unless only this machine can connect. */
function logConsole({ console, host, operatorAddresses }: Config, url: string, { log }: App): void {
  if (isLoopback(host) || (workerNumber !== undefined && workerNumber > 1)) return;
  const from = operatorAddresses.length === 0 ? "all addresses" : operatorAddresses.join(", ");
  log.info({ console: console ? `${url}/_/console/` : "off", from }, "open to operators");
}

/** Refuses a database that could serve only some of the calls. @throws PlainFailure */
async function checkDatabase({ databaseUrl, databaseTimeoutMs, databasePooled }: Config): Promise<void> {
  if (workerNumber !== undefined && workerNumber > 1) return;
  const problem = await findDatabaseProblem(databaseUrl, { timeoutMs: databaseTimeoutMs, isPooled: databasePooled });
  if (problem !== undefined) throw new PlainFailure(problem);
}

/**
 * Refuses to start if the file store rejects the credentials. An unreachable store only causes a warning, because it may
 * recover, and requests without files work.
 *
 * @throws PlainFailure
 */
async function checkStore(config: Config, { bytes, log }: App): Promise<void> {
  if (workerNumber !== undefined && workerNumber > 1) return;
  const problem = await findStoreProblem(config, bytes);
  if (problem === undefined) return;
  if (problem.refusal !== undefined) throw new PlainFailure(problem.text);
  log.warn({ problem: problem.text }, "files cannot be stored or read for now");
}

/** Runs in the background, because an unreachable mail server must not delay the start. Mails are queued. */
async function warnOfMailServer({ smtpUrl }: Config, { log }: App): Promise<void> {
  if (smtpUrl === undefined || (workerNumber !== undefined && workerNumber > 1)) return;
  const problem = await findMailProblem(smtpUrl);
  if (problem !== undefined) log.warn({ problem }, "mails cannot be sent for now");
}

/** The demo application and the first operator of a new deployment. */
interface FirstStart {
  readonly demo: NewApplication | undefined;
  readonly owner: NewOperator | undefined;
}

interface FirstStartOptions {
  readonly demoName: string;
  /** The settings of the demo application. */
  readonly settings?: ApplicationSettings;
  /** Whether the owner must first replace the printed password. */
  readonly mustChangePassword: boolean;
}

const ofDeployment = (): FirstStartOptions => ({ demoName: "Demo", mustChangePassword: isOutputStored() });
const ofThrowaway: FirstStartOptions = {
  demoName: "Test",
  settings: { oidc: {}, rehearsal: "on" },
  mustChangePassword: false,
};

/**
 * The created credentials, for the record of a throwaway server; undefined if it resumes a folder.
 */
function createdAtFirst({ demo, owner }: FirstStart) {
  return demo && owner && { ...demo, operator: { name: owner.row.name, password: owner.password } };
}

/** Migrates the schema and joins the deployment. A new embedded database gets a demo application in the same transaction. */
async function migrateFirst(
  config: Config,
  app: App,
  { demoName, settings, mustChangePassword }: FirstStartOptions,
): Promise<{ readonly demo: NewApplication | undefined; readonly creatingOwner: Promise<NewOperator | undefined> }> {
  let demo: NewApplication | undefined;
  let newOwner: Promise<NewOperator> | undefined;
  let schemaBefore: string | undefined;
  const startedAt = performance.now();
  const makeOwner = () => newOperator({ name: "owner", role: "owner", mustChangePassword }, app);
  const migrated = await migrate(
    app.database,
    async ({ queries }) => {
      if (!config.databaseUrl.startsWith("file:")) return;
      demo = await insertApplication(demoName, app, queries);
      if (settings !== undefined) await updateApplicationSettings(demo.appid, settings, queries);
    },
    {
      admit: async (applied, queries) => {
        schemaBefore = [...applied].sort().at(-1);
        if (applied.includes(deploymentFacts.name)) await requireFitting(app, queries);
      },
      onNewer: (names) => app.log.warn({ names }, "the database was migrated by a newer version"),
      onEmpty() {
        newOwner = makeOwner(); // hashes the password in another thread while the schema is created
        newOwner.catch(() => {}); // thrown below
      },
    },
  );
  if (schemaBefore !== undefined && migrated.length > 0) {
    const ms = Math.round(performance.now() - startedAt);
    app.log.info(
      { from: schemaBefore, to: migrated.at(-1), migrations: migrated.length, ms },
      "the schema was migrated",
    );
  }
  await joinDeployment(app);
  const creatingOwner = createFirstOwner(app, () => newOwner ?? makeOwner());
  creatingOwner.catch(() => {}); // thrown by `serve`
  return { demo, creatingOwner };
}

/** Creates the first operator if there are no operators. */
async function createFirstOwner(app: App, makeOwner: () => Promise<NewOperator>): Promise<NewOperator | undefined> {
  const { database, audit } = app;
  if (await hasOperators(database.reads)) return undefined;
  const owner = await makeOwner();
  const isCreated = await database.write(async ({ queries }) => {
    // Serialized, so that only one of several starting processes creates the operator.
    await lockName(database.dialect, "operators", queries);
    if ((await hasOperators(queries)) || !(await insertOperator(owner.row, queries))) return false;
    const details = owner.row.must_change_password === 1 ? { mustChangePassword: true } : {};
    await audit.record({ actor: { kind: "system" }, action: "createOperator", target: owner.row.id, details }, queries);
    return true;
  });
  return isCreated ? owner : undefined;
}

function firstAsJson({ demo, owner }: FirstStart): string {
  if (demo === undefined && owner === undefined) return "";
  const mustChangePassword = owner?.row.must_change_password === 1;
  const operator = owner && { name: owner.row.name, password: owner.password, mustChangePassword };
  return `${JSON.stringify({ application: demo, operator })}\n`;
}

function describeFirst({ demo, owner }: FirstStart): string {
  const mustChange = owner?.row.must_change_password === 1;
  const ofDemo = `
A demo application is ready. Its credentials are shown only once:

  appid   ${demo?.appid}
  appkey  ${demo?.appkey}
`;
  const ofOwner = `
An operator for the whole deployment is ready. The password is shown only once${mustChange ? ", and must be changed first, because this output is stored" : ""}:

  name      ${owner?.row.name}
  password  ${owner?.password}
`;
  return `${demo === undefined ? "" : ofDemo}${owner === undefined ? "" : ofOwner}`;
}

function suggestCalls(url: string, { demo, owner }: FirstStart, hasConsole: boolean): string {
  const json = "-H 'Content-Type: application/json'";
  const device = JSON.stringify({ ...demo, platform: "curl", uniqueId: "my-first-device" });
  const signIn = JSON.stringify({ name: owner?.row.name, password: owner?.password });
  const ofDemo = `
Register a device:

  curl -s ${url}/devices ${json} -d '${device}'
`;
  const token = `TOKEN=$(curl -s ${url}/_/api/sessions ${json} -d '${signIn}' | sed 's/.*"token":"\\([^"]*\\)".*/\\1/')`;
  const change = JSON.stringify({ currentPassword: owner?.password, password: "YOUR NEW PASSWORD" });
  const ofOwner =
    owner?.row.must_change_password === 1
      ? `
Sign in as the operator, and set another password; until then everything else is refused:

  ${token}
  curl -s -X PATCH ${url}/_/api/operators/me -H "Authorization: Service $TOKEN" ${json} -d '${change}'
`
      : `
Sign in as the operator, and list the applications:

  ${token}
  curl -s ${url}/_/api/applications -H "Authorization: Service $TOKEN"
`;
  const ofConsole = hasConsole ? `\nOr sign in with the browser: ${url}/_/console/\n` : "";
  return `${demo === undefined ? "" : ofDemo}${owner === undefined ? "" : `${ofOwner}${ofConsole}\n`}`;
}

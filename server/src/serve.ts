import { type App, buildApp } from "./app.ts";
import { insertApplication, type NewApplication } from "./applications/applications.store.ts";
import type { Config } from "./config.ts";
import { migrate } from "./db/migrate.ts";
import { onStop } from "./lib/stop-signals.ts";
import { startMaintenance } from "./maintenance.ts";
import { type NewOperator, newOperator } from "./operators/operators.new.ts";
import { hasOperators, insertOperator } from "./operators/operators.store.ts";
import { onSupervisor, tellSupervisor } from "./workers/worker.ts";

/** Serves until SIGTERM or SIGINT, then finishes what is in flight. Resolves once it listens. */
export async function serve(config: Config): Promise<void> {
  const app = await buildApp(config);
  const { log, transport } = app;
  const stopping = Promise.withResolvers<string>();
  if (config.tls !== undefined) process.on("SIGHUP", () => transport.reloadCertificate());
  try {
    const first = await migrateFirst(config, app);
    process.stdout.write(describeFirst(first)); // before anything else can fail
    onStop(stopping.resolve); // who has connected is answered
    await transport.listen(config.host, config.port);
    const url = config.publicUrl ?? transport.url();
    const metricsPort = await app.insight?.listener?.listen(config.metricsHost, config.metricsPort ?? 0);
    log.info({ url, docs: `${url}/_/docs`, metrics_port: metricsPort }, "listening");
    process.stdout.write(suggestCalls(url, first));
  } catch (error) {
    onStop(() => process.exit(1));
    await app.close(0);
    throw error;
  }
  const maintenance = startMaintenance(app);

  async function stop(signal: string): Promise<void> {
    log.info({ signal }, "shutting down");
    await maintenance.stop();
    await app.close(config.shutdownGraceMs);
    log.info("stopped");
    log.flush(() => process.exit(0));
  }
  onSupervisor("stop", () => stopping.resolve("stop"));
  stopping.promise.then(stop);
  tellSupervisor({ kind: "listening" });
}

/** What a new deployment begins with, so that there is something to try and somebody to try it. */
interface First {
  readonly demo: NewApplication | undefined;
  readonly owner: NewOperator | undefined;
}

/** Brings the schema up to date; a new embedded database gets a demo application in the same transaction. */
async function migrateFirst(config: Config, app: App): Promise<First> {
  let demo: NewApplication | undefined;
  await migrate(
    app.database,
    async ({ queries }) => {
      if (config.databaseUrl.startsWith("file:")) demo = await insertApplication("Demo", app, queries);
    },
    { onNewer: (names) => app.log.warn({ names }, "the database was migrated by a newer version") },
  );
  return { demo, owner: await createFirstOwner(app) };
}

/** Somebody has to be the first: where there is no operator at all, this makes one. */
async function createFirstOwner(app: App): Promise<NewOperator | undefined> {
  const { database, audit } = app;
  if (await hasOperators(database.reads)) return undefined;
  const owner = await newOperator({ name: "owner", role: "owner" }, app);
  const isCreated = await database.write(async ({ queries }) => {
    // Of processes that start at once one makes it.
    for (const statement of database.dialect.takeTurns("operators")) await statement.execute(queries);
    if ((await hasOperators(queries)) || !(await insertOperator(owner.row, queries))) return false;
    await audit.record({ actor: { kind: "system" }, action: "createOperator", target: owner.row.id }, queries);
    return true;
  });
  return isCreated ? owner : undefined;
}

function describeFirst({ demo, owner }: First): string {
  const ofDemo = `
A demo application is ready. Its credentials are shown this once:

  appid   ${demo?.appid}
  appkey  ${demo?.appkey}
`;
  const ofOwner = `
An operator for the whole deployment is ready. The password is shown this once:

  name      ${owner?.row.name}
  password  ${owner?.password}
`;
  return `${demo === undefined ? "" : ofDemo}${owner === undefined ? "" : ofOwner}`;
}

function suggestCalls(url: string, { demo, owner }: First): string {
  const json = "-H 'Content-Type: application/json'";
  const device = JSON.stringify({ ...demo, platform: "curl", uniqueId: "my-first-device" });
  const signIn = JSON.stringify({ name: owner?.row.name, password: owner?.password });
  const ofDemo = `
Register a device:

  curl -s ${url}/devices ${json} -d '${device}'
`;
  const ofOwner = `
Sign in as the operator, and list the applications:

  TOKEN=$(curl -s ${url}/_/api/sessions ${json} -d '${signIn}' | sed 's/.*"token":"\\([^"]*\\)".*/\\1/')
  curl -s ${url}/_/api/applications -H "Authorization: Service $TOKEN"
`;
  return `${demo === undefined ? "" : ofDemo}${owner === undefined ? "" : `${ofOwner}\n`}`;
}

import { type App, buildApp } from "./app.ts";
import { insertApplication, type NewApplication } from "./applications/applications.store.ts";
import type { Config } from "./config.ts";
import { migrate } from "./db/migrate.ts";
import { startMaintenance } from "./maintenance.ts";
import { insertOperator, type NewOperator } from "./operators/operators.store.ts";

/** Serves until SIGTERM or SIGINT, then finishes what is in flight. Resolves once it listens. */
export async function serve(config: Config): Promise<void> {
  const app = await buildApp(config);
  const { log, transport } = app;
  try {
    const first = await migrateFirst(config, app);
    if (first !== undefined) process.stdout.write(describeFirst(first)); // before anything else can fail
    await transport.listen(config.host, config.port);
    const url = config.publicUrl ?? transport.url();
    log.info({ url, docs: `${url}/_/docs` }, "listening");
    if (first !== undefined) process.stdout.write(suggestCalls(url, first));
  } catch (error) {
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
  process.once("SIGTERM", stop);
  process.once("SIGINT", stop);
  if (config.tls !== undefined) process.on("SIGHUP", () => transport.reloadCertificate());
}

/** What a new embedded database begins with, so that there is something to try. */
interface First {
  readonly demo: NewApplication;
  readonly owner: NewOperator;
}

/** Brings the schema up to date; a new embedded database gets its first rows in the same transaction. */
async function migrateFirst(config: Config, app: App): Promise<First | undefined> {
  let first: First | undefined;
  await migrate(app.database, async ({ queries }) => {
    if (!config.databaseUrl.startsWith("file:")) return;
    const demo = await insertApplication("Demo", app, queries);
    const owner = await insertOperator("owner", app, queries);
    if (owner !== undefined) first = { demo, owner }; // in a new database no name is taken
  });
  return first;
}

function describeFirst({ demo: { appid, appkey }, owner: { name, token } }: First): string {
  return `
A demo application is ready. Its credentials are shown this once:

  appid   ${appid}
  appkey  ${appkey}

So is an operator for the whole deployment, "${name}". Its token is shown this once:

  token   ${token}

`;
}

function suggestCalls(url: string, { demo: { appid, appkey }, owner: { token } }: First): string {
  const body = JSON.stringify({ appid, appkey, platform: "curl", uniqueId: "my-first-device" });
  return `Register a device:

  curl -s ${url}/devices -H 'Content-Type: application/json' -d '${body}'

List the applications, as the operator:

  curl -s ${url}/_/api/applications -H 'Authorization: Service ${token}'

`;
}

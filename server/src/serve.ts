import { type App, buildApp } from "./app.ts";
import { insertApplication, type NewApplication } from "./applications/applications.store.ts";
import type { Config } from "./config.ts";
import { migrate } from "./db/migrate.ts";
import { startMaintenance } from "./maintenance.ts";

/** Serves until SIGTERM or SIGINT, then finishes what is in flight. Resolves once it listens. */
export async function serve(config: Config): Promise<void> {
  const app = await buildApp(config);
  const { log, transport } = app;
  try {
    const demo = await migrateWithDemo(config, app);
    if (demo !== undefined) process.stdout.write(describeDemo(demo)); // before anything else can fail
    const port = await transport.listen(config.host, config.port);
    const url = config.publicUrl ?? urlOf(config.host, port);
    log.info({ url, docs: `${url}/_/docs` }, "listening");
    if (demo !== undefined) process.stdout.write(suggestCall(url, demo));
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
}

/** Brings the schema up to date; a new embedded database gets a demo application in the same transaction. */
async function migrateWithDemo(config: Config, app: App): Promise<NewApplication | undefined> {
  let demo: NewApplication | undefined;
  await migrate(app.database, async ({ queries }) => {
    if (config.databaseUrl.startsWith("file:")) demo = await insertApplication("Demo", app, queries);
  });
  return demo;
}

function urlOf(host: string, port: number): string {
  return `http://${host.includes(":") ? `[${host}]` : host}:${port}`;
}

function describeDemo({ appid, appkey }: NewApplication): string {
  return `
A demo application is ready. Its credentials are shown this once:

  appid   ${appid}
  appkey  ${appkey}

`;
}

function suggestCall(url: string, { appid, appkey }: NewApplication): string {
  const body = JSON.stringify({ appid, appkey, platform: "curl", uniqueId: "my-first-device" });
  return `Register a device:

  curl -s ${url}/devices -H 'Content-Type: application/json' -d '${body}'

`;
}

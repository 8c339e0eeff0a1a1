import { existsSync, readdirSync } from "node:fs";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { Deployment } from "../testkit/deployment.ts";
import { startServer } from "../testkit/server.ts";
import { createApi } from "./api.ts";
import type { Tally } from "./tally.ts";

const preloads = ["./shifted-clock.mjs", "./impatient.mjs"].map((script) => import.meta.resolve(script));
/** Longer than the grace period of unfinished bytes, and than the completion of an upload. */
const laterMs = 26 * 3_600_000;
/** Less than a jump of the clock, after which nothing is deleted for an hour. */
const betweenMs = laterMs / 2;
/** Maintenance then runs every second. */
const patienceMs = 20_000;
/** Within it, a round has ended. */
const roundMs = 5_000;

/** After the next maintenance, the folder of files holds no orphaned objects. */
export async function expectNoOrphans({ settings, application, operator }: Deployment, tally: Tally): Promise<void> {
  const startLater = (shiftMs: number) =>
    startServer({ ...settings, FAULTS_CLOCK_SHIFT_MS: `${shiftMs}`, OPERATOR_IDLE_MS: `${2 * laterMs}` }, { preloads });
  const between = await startLater(betweenMs);
  await sleep(roundMs);
  await between.end("SIGTERM");
  const server = await startLater(laterMs);
  const api = createApi(server.port, tally, { isCounted: false });
  const session = await api.call("POST /_/api/sessions", { body: operator });
  const token: string = session.body.result.token;
  const ids = new Set<string>();
  for (let query = "pageSize=1000"; query !== ""; ) {
    const { result } = (await api.call(`GET /_/api/applications/${application.appid}/blobs?${query}`, { token })).body;
    for (const { id } of result.pageResults) ids.add(id);
    query = result.nextToken === undefined ? "" : `pagingToken=${result.nextToken}`;
  }
  api.close();
  const folder = path.join(settings["DATA_DIR"] ?? "", "files");
  const entries = (name: string) => (existsSync(path.join(folder, name)) ? readdirSync(path.join(folder, name)) : []);
  const orphans = () => [...entries(application.appid).filter((id) => !ids.has(id)), ...entries(".incoming")];
  const found = orphans().length;
  const deadline = performance.now() + patienceMs;
  while (orphans().length > 0 && performance.now() < deadline) await sleep(200);
  tally.checks += found;
  for (const name of orphans()) tally.wrong.push(`${name} is an orphaned object`);
  tally.remarks.push(`${found} orphaned objects deleted`);
  await server.end("SIGTERM");
}

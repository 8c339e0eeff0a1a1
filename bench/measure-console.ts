import { call } from "./api.ts";
import { createOperator, type Engine } from "./engine.ts";
import { startFixture } from "./fixture.ts";
import { grow } from "./growth-fill.ts";
import type { Row } from "./report.ts";
import { startServer } from "./server-process.ts";
import { median } from "./turns.ts";

/** The data behind the console. */
const sizes = { applications: 1_000, users: 100_000, devices: 100_000, checkins: 100_000 };
const goalMs = 500;
const rounds = 7;

/** The calls of the first view of each screen; `…` is the path of the application. */
const views: Readonly<Record<string, readonly string[]>> = {
  deployment: ["/_/api/deployment", "/_/api/statistics"],
  applications: ["/_/api/applications?include=activity&pageSize=100", "/_/api/statistics?series=calls"],
  audit: ["/_/api/audit?pageSize=100", "/_/api/audit/counts"],
  operators: ["/_/api/operators?include=access&pageSize=100"],
  overview: ["…/overview?compare=true&interval=hour", "…/impact", "/_/api/audit?appid={appid}&pageSize=8"],
  start: ["…/requests", "…/keys"],
  users: ["…/users?pageSize=100"],
  "users by name": ["…/users?pageSize=100&sortOrder=userName&userNamePrefix=usr_"],
  devices: ["…/devices?pageSize=100"],
  metrics: ["…/metrics?pageSize=100"],
  crashes: ["…/crashes?pageSize=100&state=open"],
  requests: ["…/requests"],
  keys: ["…/keys", "…/statistics?interval=hour&series=keys,signatures"],
  settings: ["…/settings", "…/settings/effective"],
  "audit of an application": ["/_/api/audit?pageSize=100&appid={appid}", "/_/api/audit/counts?appid={appid}"],
  palette: ["…/search?q=usr", "/_/api/search?q=growth"],
};

/** The time of the server for the first view of every screen, with 100,000 users and 1,000 applications behind it. */
export async function measureConsole(engine: Engine, report: (line: string) => void): Promise<Row[]> {
  const fixture = await startFixture(engine, async () => {});
  const operator = await createOperator(fixture.deployment);
  await fixture.server.stop();
  await grow(fixture.deployment, fixture.credentials.appid, sizes, report);
  const server = await startServer(fixture.deployment.settings);
  try {
    const signedIn = await call(server.port, "POST", "/_/api/sessions", undefined, operator);
    const { token } = signedIn.body.result;
    const rows: Row[] = [];
    for (const [name, paths] of Object.entries(views)) {
      const times = [];
      for (let round = 0; round < rounds; round += 1) {
        const began = performance.now();
        for (const path of paths) await call(server.port, "GET", pathOf(path, fixture.credentials.appid), token);
        times.push(performance.now() - began);
      }
      const [first = 0, ...others] = times;
      report(`${name}: ${first.toFixed(1)} ms at first, then ${median(others).toFixed(1)} ms`);
      rows.push({
        name: `console: ${name}`,
        measured: `${first.toFixed(1)} ms`,
        p50Ms: median(others),
        goal: { text: `≤ ${goalMs} ms`, isMet: Math.max(...times) <= goalMs },
        details: { sizes, paths, times },
      });
    }
    return rows;
  } finally {
    await server.stop();
  }
}

function pathOf(path: string, appid: string): string {
  return path.replace("…", `/_/api/applications/${appid}`).replace("{appid}", appid);
}

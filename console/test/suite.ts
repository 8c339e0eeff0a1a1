import { mkdirSync } from "node:fs";
import path from "node:path";
import { styleText } from "node:util";
import { type Browser, type BrowserContext, chromium, type Page } from "playwright-core";
import { startThrowaway } from "rollcall/testing";
import { startThrowawayPostgres } from "../../scripts/throwaway-postgres.ts";
import { budgets } from "./budgets.ts";
import { callJourneys } from "./call-journeys.ts";
import { journeys } from "./journeys.ts";
import { looks } from "./looks.ts";
import { security } from "./security.ts";
import { startOnPostgres, type TestServer } from "./servers.ts";

/** Without these, Chromium calls its maker. */
const quiet = [
  "--no-sandbox",
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
];
const actionMsMax = 60_000; // for what never comes; on a busy machine a page takes seconds

export interface Counts {
  readonly passed: number;
  readonly failed: number;
}

export interface Setup {
  readonly server: TestServer;
  readonly browser: Browser;
  /** Where pictures of the screens are written. */
  readonly pictures: string;
  /** A new browser profile with one tab, at the sign-in. It fails the check when a page does what it must not. */
  open(options?: Parameters<Browser["newContext"]>[0]): Promise<Page>;
}

export type Checks = Readonly<Record<string, (setup: Setup) => Promise<void>>>;

/** Runs all checks on SQLite, and the journeys on PostgreSQL, too. */
export async function runConsoleSuite(executablePath: string, pictures: string): Promise<Counts> {
  const browser = await chromium.launch({ executablePath, args: quiet });
  const postgres = await startThrowawayPostgres();
  const counts = { passed: 0, failed: 0 };
  try {
    const allJourneys = { ...journeys, ...callJourneys };
    const all = { ...budgets, ...allJourneys, ...looks, ...security };
    await runChecks("SQLite", all, await startThrowaway(), browser, pictures, counts);
    await runChecks("PostgreSQL", allJourneys, await startOnPostgres(postgres.url), browser, pictures, counts);
  } finally {
    await browser.close();
    await postgres.stop();
  }
  return counts;
}

async function runChecks(
  engine: string,
  checks: Checks,
  server: TestServer,
  browser: Browser,
  pictures: string,
  counts: { passed: number; failed: number },
): Promise<void> {
  console.log(styleText("bold", engine));
  mkdirSync(pictures, { recursive: true });
  for (const [title, check] of Object.entries(checks)) {
    const contexts: BrowserContext[] = [];
    const misdeeds: string[] = [];
    async function open(options: Parameters<Browser["newContext"]>[0] = {}): Promise<Page> {
      const context = await browser.newContext(options);
      context.setDefaultTimeout(actionMsMax);
      contexts.push(context);
      await context.addInitScript(keepTimedThings);
      watch(context, server.url, misdeeds);
      const page = await context.newPage();
      await page.goto(`${server.url}/_/console/`);
      await page.getByRole("button", { name: "Sign in" }).waitFor();
      return page;
    }
    try {
      await check({ server, browser, pictures, open });
      if (misdeeds.length > 0) throw new Error(misdeeds.join("\n"));
      counts.passed += 1;
      console.log(`${styleText("green", "ok    ")} ${title}`);
    } catch (error) {
      counts.failed += 1;
      console.log(`${styleText("red", "failed")} ${title}\n`, error);
      for (const context of contexts) {
        const file = path.join(pictures, `failed-${counts.failed}.png`);
        await context
          .pages()
          .at(-1)
          ?.screenshot({ path: file })
          .catch(() => undefined);
      }
    }
    for (const context of contexts) await context.close();
  }
  await server.stop();
}

/** Runs in the page: an Undo and the first key of a pair wait for the check, however busy the machine is. */
function keepTimedThings(): void {
  const timed = [10_000, 1500];
  const original = window.setTimeout;
  const patient = (run: () => void, ms?: number) => (timed.includes(ms ?? 0) ? 0 : original(run, ms));
  Object.assign(window, { setTimeout: patient });
}

/** Notes each request to another host, each violation of the content security policy, and each error of a page. */
function watch(context: BrowserContext, url: string, misdeeds: string[]): void {
  context.on("request", (request) => {
    const { protocol, origin } = new URL(request.url());
    if (protocol !== "data:" && protocol !== "blob:" && origin !== url) misdeeds.push(`A request to ${request.url()}`);
  });
  context.on("weberror", (error) => misdeeds.push(`An error of the page: ${error.error().stack}`));
  context.on("console", (message) => {
    if (/Content Security Policy|TrustedHTML|TrustedScript|Refused to/.test(message.text()))
      misdeeds.push(message.text());
  });
}

/** Signs in at the sign-in screen. */
export async function signIn(page: Page, { operator }: TestServer): Promise<void> {
  await page.getByLabel("Name").fill(operator.name);
  await page.getByLabel("Password").fill(operator.password);
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.getByRole("heading", { level: 1 }).waitFor();
  await page.locator("[role=grid], h2").first().waitFor(); // the applications, or that there is none
}

/** Calls the API as the owner, as programs do. */
export async function connect({ url, operator }: TestServer) {
  const { result } = await send(`${url}/_/api/sessions`, "POST", operator);
  return (method: string, at: string, body?: object) =>
    send(`${url}/_/api${at}`, method, body, { Authorization: `Bearer ${result.token}` });
}

/** Sends one call, which must succeed. */
export async function send(url: string, method: string, body?: object, headers: Readonly<Record<string, string>> = {}) {
  const response = await fetch(url, {
    method,
    headers: { ...headers, "Content-Type": "application/json" },
    body: body === undefined ? null : JSON.stringify(body),
  });
  const answer = await response.json();
  if (answer.success !== true) throw new Error(`${method} ${url}: ${JSON.stringify(answer)}`);
  return answer;
}

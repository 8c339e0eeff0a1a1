import { mkdirSync } from "node:fs";
import path from "node:path";
import { styleText } from "node:util";
import { type Browser, type BrowserContext, chromium } from "playwright-core";
import { lookNames } from "./looks.ts";
import { type Profile, quietFlags, watchPages } from "./profiles.ts";
import type { TestServer } from "./servers.ts";
import { writeSheet } from "./sheet.ts";
import type { Checks, Setup } from "./suite.ts";
import { type Track, tracks } from "./tracks.ts";

export interface Options {
  /** The program of the browser. */
  readonly executablePath: string;
  /** The folder for pictures of the screens. */
  readonly pictures: string;
  /** Runs only checks whose names have one of these texts; all if it is empty. */
  readonly only: readonly string[];
}

/** Runs all tracks at once, in one browser. */
export async function runConsoleSuite(options: Options): Promise<{ passed: number; failed: number }> {
  mkdirSync(options.pictures, { recursive: true });
  const browser = await chromium.launch({ executablePath: options.executablePath, args: quietFlags });
  const counts = { passed: 0, failed: 0 };
  const selected = tracks
    .map((track) => ({ track, checks: selectChecks(track, options.only) }))
    .filter(({ checks }) => checks.length > 0);
  try {
    // At once: while one waits, another draws.
    await Promise.all(selected.map(({ track, checks }) => runTrack(track, checks, browser, options.pictures, counts)));
  } finally {
    await browser.close();
  }
  writeSheet(options.pictures, lookNames);
  return counts;
}

interface NamedCheck {
  readonly name: string;
  readonly check: Checks[string];
  readonly hand: Setup["hand"];
}

function selectChecks({ parts }: Track, only: readonly string[]): NamedCheck[] {
  return parts
    .flatMap(({ name: part, checks, hand }) =>
      Object.entries(checks).map(([title, check]) => ({ name: `${part}: ${title}`, check, hand })),
    )
    .filter(({ name }) => only.length === 0 || only.some((text) => name.includes(text)));
}

async function runTrack(
  { engine, start }: Track,
  checks: readonly NamedCheck[],
  browser: Browser,
  pictures: string,
  counts: { passed: number; failed: number },
): Promise<void> {
  const startedAt = performance.now();
  const server = await start();
  try {
    for (const check of checks) await runCheck(check, engine, { server, browser, pictures }, counts);
  } finally {
    await server.stop();
  }
  console.log(styleText("bold", `${engine}: ${checks.length} checks in ${secondsSince(startedAt)}`));
}

async function runCheck(
  { name, check, hand }: NamedCheck,
  engine: string,
  shared: { readonly server: TestServer; readonly browser: Browser; readonly pictures: string },
  counts: { passed: number; failed: number },
): Promise<void> {
  const startedAt = performance.now();
  const contexts: BrowserContext[] = [];
  const misdeeds: string[] = [];
  const open = async (profile: Profile = {}) => {
    const page = await watchPages(shared.browser, shared.server.url, profile, misdeeds);
    contexts.push(page.context());
    await page.goto(`${shared.server.url}/_/console/`);
    await page.getByRole("button", { name: "Sign in" }).waitFor();
    return page;
  };
  try {
    await check({ ...shared, hand, open });
    if (misdeeds.length > 0) throw new Error(misdeeds.join("\n"));
    counts.passed += 1;
    console.log(`${styleText("green", "ok    ")} ${secondsSince(startedAt)}  ${engine}, ${name}`);
  } catch (error) {
    counts.failed += 1;
    console.log(
      `${styleText("red", "failed")} ${secondsSince(startedAt)}  ${engine}, ${name}\n`,
      error,
      misdeeds.join("\n"),
    );
    await keepPictures(contexts, path.join(shared.pictures, `failed-${counts.failed}`));
  }
  for (const context of contexts) await context.close();
}

/** The contents of the last tab of each profile, for the analysis of a failure. */
async function keepPictures(contexts: readonly BrowserContext[], name: string): Promise<void> {
  for (const [index, context] of contexts.entries()) {
    const page = context.pages().at(-1);
    await page?.screenshot({ path: `${name}-${index + 1}.png` }).catch(() => undefined);
  }
}

function secondsSince(startedAt: number): string {
  return `${((performance.now() - startedAt) / 1000).toFixed(1).padStart(5)} s`;
}

import assert from "node:assert/strict";
import { mkdirSync } from "node:fs";
import path from "node:path";
import { styleText } from "node:util";
import { type Browser, type BrowserContext, chromium, type Page } from "playwright-core";
import type { Hand } from "./hand.ts";
import { lookNames } from "./looks.ts";
import { type Profile, quietFlags, watchPages } from "./profiles.ts";
import type { TestServer } from "./servers.ts";
import { writeSheet } from "./sheet.ts";
import type { Checks, Setup } from "./suite.ts";
import { type Track, tracksOfPhases } from "./tracks.ts";

export interface Options {
  /** The program of the browser. */
  readonly executablePath: string;
  /** The folder for pictures of the screens. */
  readonly pictures: string;
  /** Runs only checks whose names contain one of these strings; all if it is empty. */
  readonly only: readonly string[];
}

interface Counts {
  passed: number;
  failed: number;
  /** How long the checks of each part took, one after the other. */
  readonly seconds: Map<string, number>;
}

/** Runs the phases in sequence in one browser, and the tracks of a phase concurrently. */
export async function runConsoleSuite(options: Options): Promise<{ passed: number; failed: number }> {
  mkdirSync(options.pictures, { recursive: true });
  const browser = await chromium.launch({ executablePath: options.executablePath, args: quietFlags });
  const counts: Counts = { passed: 0, failed: 0, seconds: new Map() };
  const phases: string[] = [];
  try {
    for (const [name, tracks] of Object.entries(tracksOfPhases)) {
      const startedAt = performance.now();
      const selected = tracks
        .map((track) => ({ track, checks: selectChecks(track, options.only) }))
        .filter(({ checks }) => checks.length > 0);
      if (selected.length === 0) continue;
      // While one track waits, another draws.
      const run = selected.map(({ track, checks }) => runTrack(track, checks, browser, options.pictures, counts));
      await Promise.all(run);
      phases.push(`${name}: ${secondsSince(startedAt).trim()}`);
    }
  } finally {
    await browser.close();
  }
  writeSheet(options.pictures, lookNames);
  const parts = [...counts.seconds].map(([part, seconds]) => `${part} ${Math.round(seconds)} s`);
  console.log(`Parts, side by side: ${parts.join(", ")}`);
  for (const phase of phases) console.log(phase);
  return counts;
}

interface NamedCheck {
  readonly part: string;
  readonly name: string;
  readonly check: Checks[string];
  readonly hand: Setup["hand"];
}

function selectChecks({ parts }: Track, only: readonly string[]): NamedCheck[] {
  return parts
    .flatMap(({ name: part, checks, hand }) =>
      Object.entries(checks).map(([title, check]) => ({ part, name: `${part}: ${title}`, check, hand })),
    )
    .filter(({ name }) => only.length === 0 || only.some((text) => name.includes(text)));
}

async function runTrack(
  { engine, start }: Track,
  checks: readonly NamedCheck[],
  browser: Browser,
  pictures: string,
  counts: Counts,
): Promise<void> {
  const startedAt = performance.now();
  const server = await start();
  const profiles: Profiles = new Map();
  try {
    const shared = { engine, server, browser, pictures, profiles };
    for (const check of checks) await runCheckTwiceAtMost(check, shared, counts);
  } finally {
    for (const { context } of profiles.values()) await context.close();
    await server.stop();
  }
  console.log(styleText("bold", `${engine}: ${checks.length} checks in ${secondsSince(startedAt)}`));
}

/** A session asks for its password again after ten minutes. */
const sharedMsMax = 5 * 60_000;

/** The profiles that checks of a track share, by their input device, each with the forbidden actions of its pages. */
type Profiles = Map<Hand, { readonly context: BrowserContext; readonly misdeeds: string[]; readonly since: number }>;

interface Shared {
  readonly engine: Track["engine"];
  readonly server: TestServer;
  readonly browser: Browser;
  readonly pictures: string;
  readonly profiles: Profiles;
}

/**
 * Retries a failed check once, since a browser on a busy machine can miss a time limit. Reports both attempts. The objects of
 * the second attempt have other names than those of the first.
 */
async function runCheckTwiceAtMost(check: NamedCheck, shared: Shared, counts: Counts): Promise<void> {
  const startedAt = performance.now();
  const again = { ...check, hand: { ...check.hand, name: `${check.hand.name} again` } };
  const hasPassed = (await runCheck(check, shared)) || (await runCheck(again, shared));
  if (hasPassed) counts.passed += 1;
  else counts.failed += 1;
  const part = `${shared.engine} ${check.part}`;
  counts.seconds.set(part, (performance.now() - startedAt) / 1000 + (counts.seconds.get(part) ?? 0));
}

/** Whether the check has passed, which it reports. */
async function runCheck({ name, check, hand }: NamedCheck, shared: Shared): Promise<boolean> {
  const startedAt = performance.now();
  const { engine, server, browser, profiles } = shared;
  const contexts: BrowserContext[] = [];
  const misdeeds = profiles.get(hand)?.misdeeds ?? [];
  misdeeds.length = 0; // discards the entries of an earlier check
  const openBlank = async (profile: Profile) => {
    // Animations take time of the processors, and no check watches them.
    const page = await watchPages(browser, server.url, { reducedMotion: "reduce", ...profile }, misdeeds);
    contexts.push(page.context());
    return page;
  };
  const open = async (profile: Profile = {}) => {
    const page = await openBlank(profile);
    await page.goto(`${server.url}/_/console/`);
    await page.getByRole("button", { name: "Sign in" }).waitFor();
    return page;
  };
  const openSession = async (profile: Profile = {}) => {
    const page = await openBlank(profile);
    const headers = { "X-Rollcall-Console": "1", Origin: server.url };
    const data = { ...server.operator, cookie: true };
    const response = await page.request.post(`${server.url}/_/api/sessions`, { headers, data });
    assert.ok(response.ok(), await response.text());
    await page.goto(`${server.url}/_/console/#/apps`);
    await showsApplications(page);
    return page;
  };
  const reopen = async () => {
    const profile = profiles.get(hand);
    if (profile === undefined || performance.now() - profile.since > sharedMsMax) return undefined;
    // A new tab would start another process, which takes twice as long.
    const page = profile.context.pages()[0] ?? (await profile.context.newPage());
    // With another query, which the console drops, it is loaded again, in the process of the tab.
    await page.goto(`${server.url}/_/console/?#/apps`);
    await showsApplications(page);
    return page;
  };
  const share = (page: Page) => {
    const before = profiles.get(hand)?.context;
    if (before !== undefined) contexts.push(before); // too old
    // The previous check may have left a prompt about unsaved input.
    page.context().on("dialog", (dialog) => {
      const isOfLeaving = dialog.type() === "beforeunload";
      (isOfLeaving ? dialog.accept() : dialog.dismiss()).catch(() => undefined);
    });
    profiles.set(hand, { context: page.context(), misdeeds, since: performance.now() });
  };
  try {
    await check({ ...shared, hand, open, openSession, reopen, share });
    if (misdeeds.length > 0) throw new Error(misdeeds.join("\n"));
    console.log(`${styleText("green", "ok    ")} ${secondsSince(startedAt)}  ${engine}, ${name}`);
    return true;
  } catch (error) {
    console.log(
      `${styleText("red", "failed")} ${secondsSince(startedAt)}  ${engine}, ${name}\n`,
      error,
      misdeeds.join("\n"),
    );
    const kept = profiles.get(hand)?.context;
    await keepPictures(kept === undefined ? contexts : [...contexts, kept], failurePath(shared, name));
    profiles.delete(hand); // the next check begins with a new one
    await kept?.close();
    return false;
  } finally {
    const kept = profiles.get(hand)?.context;
    for (const context of contexts) if (context !== kept) await context.close();
    for (const page of kept?.pages().slice(1) ?? []) await page.close();
  }
}

async function showsApplications(page: Page): Promise<void> {
  await page.getByRole("heading", { level: 1, name: "Applications" }).waitFor();
  await page.locator("[role=grid], h2").first().waitFor();
}

function failurePath({ pictures, engine }: Shared, name: string): string {
  return path.join(pictures, `failed-${engine}-${name.replaceAll(/\W+/g, "-")}`.slice(0, 120));
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

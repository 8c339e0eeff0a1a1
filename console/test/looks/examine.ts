import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import path from "node:path";
import type { Page } from "playwright-core";
import { isCalling } from "../profiles.ts";
import type { Setup } from "../suite.ts";
import { addressOf, type Ids } from "./content.ts";
import { findMisfits, findMotion, findOverlaps } from "./misfits.ts";
import type { Screen } from "./screens.ts";
import type { Tour } from "./views.ts";

const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

/** Opens a screen without panels or dialogs of the screen before: the sign-in between them takes all of it away. */
export async function openScreen(page: Page, serverUrl: string, { at, act }: Screen, ids: Ids): Promise<void> {
  await page.goto(`${serverUrl}/_/console/#/sign-in`);
  await page.getByRole("heading", { name: "Sign in to Rollcall" }).waitFor();
  // React Aria keeps its announcements for some seconds, including the names of menus that are closed.
  await page.evaluate(() => document.querySelector("[data-live-announcer]")?.remove());
  await page.goto(`${serverUrl}/_/console/${addressOf(at, ids)}`);
  await page.locator("#main").getByRole("heading", { level: 1 }).waitFor();
  await page.locator("#main").locator("[role=grid]:visible, h2:visible, form:visible").first().waitFor();
  await act?.(page);
}

/**
 * @returns one sentence for each violation of WCAG 2.2 A and AA, and for elements that do not fit, in each view of the
 * tour
 */
export async function examine(page: Page, screen: string, tour: Tour, { pictures }: Setup): Promise<string[]> {
  const problems: string[] = [];
  for (const { name, viewport, colorScheme, hasPicture, hasRules } of tour.views) {
    await page.emulateMedia({ colorScheme });
    await page.setViewportSize(viewport);
    await settle(page);
    if (hasPicture) await page.screenshot({ path: path.join(pictures, `${screen}-${name}.jpg`), quality: 92 }); // PNG takes much longer
    const found: string[] = [];
    for (const find of [findMisfits, findOverlaps, findMotion]) found.push(...(await page.evaluate(find)));
    if (hasRules) found.push(...(await findViolations(page)));
    problems.push(...found.map((problem) => `${screen}, ${name}: ${problem}`));
  }
  const [{ viewport, colorScheme }] = tour.views;
  await page.emulateMedia({ colorScheme });
  await page.setViewportSize(viewport);
  return problems;
}

/** Waits until the page has received all requested data, and has drawn it. */
export async function settle(page: Page): Promise<void> {
  do {
    await page.waitForFunction(isDrawn);
    await page.evaluate(waitForFrames);
  } while (isCalling(page));
}

/** Runs in the page. On a phone, a dialog with a field stays hidden until the keyboard of the phone is visible. */
function isDrawn(): boolean {
  return document.querySelector('[style*="opacity: 0"], [aria-busy="true"], [aria-label="Loading"]') === null;
}

/** Runs in the page, because the content of an answer may cause further requests, or draw a chart. */
async function waitForFrames(): Promise<void> {
  for (let frames = 0; frames < 3; frames += 1) await new Promise((resolve) => requestAnimationFrame(resolve));
}

async function findViolations(page: Page): Promise<string[]> {
  if (!(await page.evaluate(() => "axe" in globalThis))) await page.addScriptTag({ content: axe });
  return page.evaluate(runAxe);
}

interface AxeResults {
  readonly violations: readonly {
    readonly id: string;
    readonly nodes: readonly { readonly html: string; readonly failureSummary?: string }[];
  }[];
}

/** Runs in the page. */
async function runAxe(): Promise<string[]> {
  const { axe } = globalThis as typeof globalThis & { axe: { run: (options: object) => Promise<AxeResults> } };
  const runOnly = { type: "tag", values: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"] };
  const { violations } = await axe.run({ runOnly, resultTypes: ["violations"] });
  return violations.map(
    ({ id, nodes }) => `${id}: ${nodes.map((node) => `${node.html} ${node.failureSummary}`).join("; ")}`,
  );
}

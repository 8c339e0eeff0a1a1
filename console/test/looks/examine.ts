import { readFileSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import path from "node:path";
import type { CDPSession, Page } from "playwright-core";
import { isCalling } from "../profiles.ts";
import type { Setup } from "../suite.ts";
import { addressOf, type Ids } from "./content.ts";
import { findMisfits, findMotion, findOverlaps } from "./misfits.ts";
import type { Screen } from "./screens.ts";
import type { Rules, Tour, View } from "./views.ts";

const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

/** Tabs in which something was opened or typed on the current screen. */
const touched = new WeakSet<Page>();

/**
 * Opens a screen without panels or dialogs of the screen before. Where there may be some, or the address stays the same, the
 * sign-in between the two takes all of it away.
 */
export async function openScreen(page: Page, serverUrl: string, { at, act }: Screen, ids: Ids): Promise<void> {
  const address = `${serverUrl}/_/console/${addressOf(at, ids)}`;
  if (touched.has(page) || page.url() === address) {
    await page.goto(`${serverUrl}/_/console/#/sign-in`);
    await page.getByRole("heading", { name: "Sign in to Rollcall" }).waitFor();
  }
  const before = await page.evaluate(() => performance.getEntriesByName("screen").at(-1)?.startTime);
  await page.goto(address);
  await page.waitForFunction((at) => performance.getEntriesByName("screen").at(-1)?.startTime !== at, before);
  if (act === undefined) touched.delete(page);
  else touched.add(page);
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
  let shown: View | undefined;
  for (const view of tour.views) {
    const { name, hasPicture, rules } = view;
    await show(page, view, shown);
    shown = view;
    await settle(page);
    if (hasPicture) await savePicture(page, path.join(pictures, `${screen}-${name}.jpg`));
    const found: string[] = await page.evaluate(findAll);
    if (rules !== undefined) found.push(...(await findViolations(page, rules)));
    problems.push(...found.map((problem) => `${screen}, ${name}: ${problem}`));
  }
  await show(page, tour.views[0], shown);
  return problems;
}

/** Takes two thirds of the time of Playwright's way, which changes the page before; PNG takes much longer. */
async function savePicture(page: Page, file: string): Promise<void> {
  const session = debuggers.get(page) ?? page.context().newCDPSession(page);
  debuggers.set(page, session);
  const picture = { format: "jpeg", quality: 92, optimizeForSpeed: true } as const;
  const { data } = await (await session).send("Page.captureScreenshot", picture);
  await writeFile(file, data, "base64");
}

const debuggers = new WeakMap<Page, Promise<CDPSession>>();

/** Runs the checks in one browser call, because a call takes longer than a check. */
const findAll = `[${[findMisfits, findOverlaps, findMotion].map((find) => `...(${find})()`).join(", ")}]`;

/** Changes only what differs from the view before: each change draws the whole page again. */
async function show(page: Page, { viewport, colorScheme }: View, before: View | undefined): Promise<void> {
  if (colorScheme !== before?.colorScheme) await page.emulateMedia({ colorScheme });
  if (viewport !== before?.viewport) await page.setViewportSize(viewport);
}

/** Waits until the page has received all requested data, and has drawn it. */
export async function settle(page: Page): Promise<void> {
  do await page.waitForFunction(isDrawn);
  while (isCalling(page));
}

/**
 * Runs in the page at each frame: whether it has been complete for three of them, because the content of an answer may
 * cause further requests, or draw a chart. On a phone, a dialog with a field stays hidden until the keyboard of the phone is
 * visible.
 */
function isDrawn(): boolean {
  const state = globalThis as typeof globalThis & { completeFrames?: number };
  const isComplete =
    document.querySelector('[style*="opacity: 0"], [aria-busy="true"], [aria-label="Loading"]') === null;
  state.completeFrames = isComplete ? (state.completeFrames ?? 0) + 1 : 0;
  if (state.completeFrames <= 3) return false;
  state.completeFrames = 0;
  return true;
}

async function findViolations(page: Page, rules: Rules): Promise<string[]> {
  if (!(await page.evaluate(() => "axe" in globalThis))) await page.addScriptTag({ content: axe });
  return page.evaluate(runAxe, rules === "colours" ? rulesOfColours : rulesOfWcag);
}

interface AxeResults {
  readonly violations: readonly {
    readonly id: string;
    readonly nodes: readonly { readonly html: string; readonly failureSummary?: string }[];
  }[];
}

const rulesOfWcag = { type: "tag", values: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"] };
/** What another theme can change. */
const rulesOfColours = { type: "rule", values: ["color-contrast", "link-in-text-block"] };

/** Runs in the page. */
async function runAxe(runOnly: object): Promise<string[]> {
  const { axe } = globalThis as typeof globalThis & { axe: { run: (options: object) => Promise<AxeResults> } };
  const { violations } = await axe.run({
    runOnly,
    resultTypes: ["violations"],
    reporter: "no-passes",
    preload: false,
    iframes: false,
  });
  return violations.map(
    ({ id, nodes }) => `${id}: ${nodes.map((node) => `${node.html} ${node.failureSummary}`).join("; ")}`,
  );
}

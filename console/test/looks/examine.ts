import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import path from "node:path";
import type { Page } from "playwright-core";
import type { Setup } from "../suite.ts";
import { addressOf, type Ids } from "./content.ts";
import type { Screen } from "./screens.ts";

const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

/** Opens a screen in a document of its own, without panels or dialogs of the screen before. */
export async function openScreen(page: Page, serverUrl: string, { at, act }: Screen, ids: Ids): Promise<void> {
  await page.goto("about:blank");
  await page.goto(`${serverUrl}/_/console/${addressOf(at, ids)}`);
  await page.getByRole("heading", { level: 1 }).waitFor();
  await page.locator("[role=grid]:visible, h2:visible, form:visible").first().waitFor();
  await act?.(page);
}

/** @returns one sentence for each violation of WCAG 2.2 A and AA, and for what does not fit */
export async function examine(page: Page, screen: string, look: string, { pictures }: Setup): Promise<string[]> {
  await settle(page);
  await page.screenshot({ path: path.join(pictures, `${screen}-${look}.png`) });
  await page.addScriptTag({ content: axe });
  const violations: string[] = await page.evaluate(runAxe);
  return [...violations, ...(await page.evaluate(findMisfits))].map((problem) => `${screen}: ${problem}`);
}

/** Waits until the page has loaded everything and shows it. */
export async function settle(page: Page): Promise<void> {
  await page.waitForLoadState("networkidle");
  // On a phone, a dialog with a field stays unseen until the keyboard of the phone is there.
  await page.waitForFunction(() => document.querySelector('[style*="opacity: 0"]') === null);
}

/** Runs in the page: whether it scrolls sideways, and which texts end without an ellipsis. */
export function findMisfits(): string[] {
  const { scrollWidth, clientWidth } = document.documentElement;
  const cut = [...document.querySelectorAll<HTMLElement>("body *")].filter((element) => {
    const hasText = [...element.childNodes].some((node) => node.nodeType === Node.TEXT_NODE && node.nodeValue?.trim());
    if (!hasText || element.clientWidth <= 1 || element.scrollWidth <= element.clientWidth + 1) return false;
    const { overflowX, textOverflow } = getComputedStyle(element);
    return (overflowX === "hidden" || overflowX === "clip") && textOverflow !== "ellipsis";
  });
  return [
    ...(scrollWidth > clientWidth ? ["it is wider than the page"] : []),
    ...cut.map((element) => `the text is cut: ${element.outerHTML.slice(0, 200)}`),
  ];
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
  const tags = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"];
  const { violations } = await axe.run({ runOnly: { type: "tag", values: tags }, resultTypes: ["violations"] });
  return violations.map(
    ({ id, nodes }) => `${id}: ${nodes.map((node) => `${node.html} ${node.failureSummary}`).join("; ")}`,
  );
}

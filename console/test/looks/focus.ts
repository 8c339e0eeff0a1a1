import assert from "node:assert/strict";
import type { Page } from "playwright-core";
import type { Setup } from "../suite.ts";
import { contentOf } from "./content.ts";
import { openScreen, settle } from "./examine.ts";
import { screens } from "./screens.ts";

/** Tabs through some screens, as an operator without a mouse, or with colours of the system, does. */
export async function findFocusProblems({ openSession, server }: Setup): Promise<void> {
  const ids = await contentOf(server);
  const problems: string[] = [];
  const page = await openSession();
  for (const screen of screens.filter(({ name }) => walked.includes(name))) {
    for (const forcedColors of ["none", "active"] as const) {
      await page.emulateMedia({ forcedColors });
      await openScreen(page, server.url, screen, ids);
      await settle(page);
      problems.push(...(await walk(page)).map((problem) => `${screen.name}, forced ${forcedColors}: ${problem}`));
    }
  }
  assert.deepEqual(problems, []);
}

const walked = ["applications", "users-three", "user-profile", "settings-limits", "audit"];
const tabsMax = 40;

/**
 * Tabs through a page.
 * @returns the problems of elements that received the focus
 */
async function walk(page: Page): Promise<string[]> {
  const problems: string[] = [];
  for (let tabs = 0; tabs < tabsMax; tabs += 1) {
    await page.keyboard.press("Tab");
    const found = await page.evaluate(examineFocus);
    if (found === "none") break;
    if (found !== "good") problems.push(found);
  }
  return [...problems, ...(await page.evaluate(findForcedOrder))];
}

/** Runs in the page. */
function examineFocus(): string {
  const element = document.activeElement;
  if (element === null || element === document.body) return "none";
  const name = element.outerHTML.slice(0, 150);
  const { left, top, width, height } = element.getBoundingClientRect();
  const [x, y] = [left + width / 2, top + height / 2];
  if (x < 0 || y < 0 || x > window.innerWidth || y > window.innerHeight) return `out of sight: ${name}`;
  const shown = document.elementFromPoint(x, y);
  if (shown !== null && !element.contains(shown) && !shown.contains(element)) return `behind something: ${name}`;
  // The ring of a checkbox is around its box, not around the input.
  const ringed = [element, ...(element.closest("label")?.querySelectorAll("*") ?? [])];
  const hasRing = ringed.some((each) => {
    const { outlineStyle, outlineWidth } = getComputedStyle(each);
    return outlineStyle !== "none" && Number.parseFloat(outlineWidth) >= 2;
  });
  return hasRing ? "good" : `without a ring: ${name}`;
}

/** Runs in the page: the order of the focus is that of the document. */
function findForcedOrder(): string[] {
  return [...document.querySelectorAll<HTMLElement>("[tabindex]")]
    .filter(({ tabIndex }) => tabIndex > 0)
    .map(({ outerHTML }) => `with an order of its own: ${outerHTML.slice(0, 150)}`);
}

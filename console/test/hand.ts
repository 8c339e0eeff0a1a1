import assert from "node:assert/strict";
import type { Locator } from "playwright-core";
import { applicationNavigation, deploymentNavigation } from "../src/shell/navigation.ts";

/** The actions of an operator: with the mouse, or with the keyboard only. */
export interface Hand {
  /** `by mouse` or `by keyboard`, with `again` after it in a second attempt. */
  readonly name: string;
  /** Presses a button, a link or an entry of a menu. */
  press(control: Locator): Promise<void>;
  /** Goes to the screen of a link in the navigation. */
  follow(link: Locator): Promise<void>;
  /** Replaces the value of a field. */
  fill(field: Locator, text: string): Promise<void>;
  /** Ticks the checkbox with this label. */
  tick(within: Locator, text: string): Promise<void>;
  /** Opens the page of a row. */
  open(row: Locator): Promise<void>;
  /** Shows the last rows of a list. */
  toEnd(list: Locator): Promise<void>;
  /** Opens the actions of a row and chooses one. */
  choose(row: Locator, action: RegExp): Promise<void>;
  /** Undoes the action that was reported last. */
  undo(within: Locator): Promise<void>;
}

export const mouse: Hand = {
  name: "by mouse",
  press: (control) => control.click(),
  follow: (link) => link.click(),
  fill: (field, text) => field.fill(text),
  tick: (within, text) => within.getByText(text).click(),
  open: (row) => row.click({ position: { x: 24, y: 12 } }), // not on an id, because a press copies it
  async toEnd(list) {
    await list.hover();
    await list.page().mouse.wheel(0, 1_000_000);
  },
  async choose(row, action) {
    await row.getByRole("button", { name: "Actions" }).click();
    await row.page().getByRole("menuitem", { name: action }).click();
  },
  undo: (within) => within.getByRole("button", { name: "Undo" }).last().click(),
};

/** Types only keys: an element that these keys cannot reach is unreachable without a mouse. */
export const keyboard: Hand = {
  name: "by keyboard",
  async press(control) {
    await reach(control);
    await control.page().keyboard.press("Enter");
  },
  async follow(link) {
    const label = await link.getAttribute("title");
    const places = [...deploymentNavigation, ...applicationNavigation.flat()];
    const isOfDeployment = (await link.locator("xpath=ancestor::nav[@aria-label='Deployment']").count()) > 0;
    const place = places.find((each) => each.label === label && deploymentNavigation.includes(each) === isOfDeployment);
    assert.ok(place !== undefined, `no key leads to ${label}`);
    await leaveField(link.page().locator("body"));
    await link.page().keyboard.press("g");
    await link.page().keyboard.press(place.key);
  },
  async fill(field, text) {
    await reach(field);
    await field.page().keyboard.press("ControlOrMeta+a");
    await field.page().keyboard.type(text);
  },
  async tick(within, text) {
    await reach(within.getByRole("checkbox", { name: text }));
    await within.page().keyboard.press("Space");
  },
  async open(row) {
    await reachRow(row);
    await row.page().keyboard.press("Enter");
  },
  async toEnd(list) {
    await reach(list.locator("[role=row][tabindex='0']"));
    await list.page().keyboard.press("End");
  },
  async choose(row, action) {
    await reachRow(row);
    await row.page().keyboard.press(".");
    await keyboard.press(row.page().getByRole("menuitem", { name: action }));
  },
  async undo(within) {
    await within.getByRole("button", { name: "Undo" }).last().waitFor();
    await leaveField(within);
    await within.page().keyboard.press("z");
  },
};

const stepsMax = 200;

/** Moves the focus to the element: by Tab, and by the arrow keys in a menu. */
async function reach(target: Locator): Promise<void> {
  const { keyboard: keys } = target.page();
  await target.and(target.page().locator(":enabled, a, [role=menuitem], [role=row], [role=grid]")).waitFor();
  for (let steps = 0; steps < stepsMax; ) {
    const move = await target.evaluate(nextMove);
    if (move === undefined) return;
    for (let times = 0; times < move.times; times += 1) await keys.press(move.key);
    steps += move.times;
  }
  assert.fail(`${stepsMax} keys do not reach ${target}`);
}

/** Moves the focus to the row of a list: by Tab to the list, and by the arrow keys in it. */
async function reachRow(row: Locator): Promise<void> {
  const { keyboard: keys } = row.page();
  await row.waitFor();
  await reach(row.locator("xpath=ancestor::*[@role='grid']").locator("[role=row][tabindex='0']"));
  for (let steps = 0; steps < stepsMax; steps += 1) {
    const distance = await row.evaluate(
      (element) => Number(element.dataset["index"]) - Number(document.activeElement?.getAttribute("data-index")),
    );
    if (distance === 0) return;
    await keys.press(distance > 0 ? "ArrowDown" : "ArrowUp");
  }
  assert.fail(`${stepsMax} keys do not reach ${row}`);
}

/** Single keys do nothing while a field has the focus. */
async function leaveField(within: Locator): Promise<void> {
  const { keyboard: keys } = within.page();
  for (let steps = 0; steps < stepsMax; steps += 1) {
    if (!(await within.evaluate(() => document.activeElement?.matches("input, textarea, select") ?? false))) return;
    await keys.press("Tab");
  }
}

/**
 * Runs in the page: the key that moves the focus towards the element, if it is not there, and how often it is safe to press it
 * without another look.
 */
function nextMove(element: Element): { key: string; times: number } | undefined {
  const active = document.activeElement;
  if (active === element) return undefined;
  const isBefore = active !== null && (element.compareDocumentPosition(active) & Node.DOCUMENT_POSITION_PRECEDING) > 0;
  const menu = element.closest("[role=menu]");
  if (menu?.contains(active)) return { key: isBefore || active === menu ? "ArrowDown" : "ArrowUp", times: 1 };
  const key = isBefore || active === document.body ? "Tab" : "Shift+Tab";
  const stops = [
    ...document.querySelectorAll<HTMLElement>("a[href], button, input, select, textarea, [tabindex]"),
  ].filter(
    (each) =>
      each.tabIndex >= 0 && each.matches(":not(:disabled)") && each.checkVisibility({ visibilityProperty: true }),
  );
  const places: readonly (Element | null)[] = stops;
  const [from, to] = [places.indexOf(active), places.indexOf(element)];
  // Some stops are one for the keyboard, such as radio buttons, and those outside of a dialog are none.
  const isFar = from >= 0 && to >= 0 && element.closest("[role=dialog], [role=alertdialog]") === null;
  return { key, times: isFar ? Math.max(1, Math.floor(Math.abs(to - from) / 2)) : 1 };
}

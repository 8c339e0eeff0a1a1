import { useEffect } from "react";
import { getPreferences } from "./preferences.ts";

export interface Shortcut {
  /** A key, "g" and a key, or "mod+k". */
  readonly keys: string;
  readonly label: string;
  readonly run: () => void;
  /** Whether it applies only while no other component has the same keys: Escape closes a panel before it removes filters. */
  readonly isFallback?: boolean;
}

const active: Shortcut[][] = [];
const sequenceMs = 1500;
let isAfterG = false;
let sequenceTimer = 0;

/** Makes shortcuts work while the component is shown. The latest component wins where two have the same keys. */
export function useShortcuts(shortcuts: readonly Shortcut[]): void {
  useEffect(() => {
    const own = [...shortcuts];
    active.push(own);
    if (active.length === 1) document.addEventListener("keydown", onKey);
    return () => {
      active.splice(active.indexOf(own), 1);
      if (active.length === 0) document.removeEventListener("keydown", onKey);
    };
  });
}

/** All shortcuts of the page, for its help. */
export function listShortcuts(): Shortcut[] {
  return [...new Map(byPriority().map((shortcut) => [shortcut.keys, shortcut])).values()];
}

/** The shortcuts of the page; where two have the same keys, the later one applies. */
function byPriority(): Shortcut[] {
  const all = active.flat();
  return [...all.filter(({ isFallback }) => isFallback), ...all.filter(({ isFallback }) => !isFallback)];
}

function onKey(event: KeyboardEvent): void {
  const keys = keysOf(event);
  if (keys === undefined) return;
  const shortcut = byPriority().findLast((candidate) => candidate.keys === keys);
  if (shortcut === undefined) return;
  event.preventDefault();
  if (!isInDialog(event)) shortcut.run();
}

function keysOf(event: KeyboardEvent): string | undefined {
  const key = event.key.toLowerCase();
  if (event.ctrlKey || event.metaKey) return event.altKey ? undefined : `mod+${key}`;
  if (event.altKey || event.defaultPrevented || !getPreferences().hasSingleKeys || isInField(event)) return undefined;
  if (isAfterG) {
    isAfterG = false;
    return `g ${key}`;
  }
  if (key !== "g") return key;
  isAfterG = true;
  window.clearTimeout(sequenceTimer);
  sequenceTimer = window.setTimeout(() => {
    isAfterG = false;
  }, sequenceMs);
  return undefined;
}

/** Single keys do nothing in fields and menus (WCAG 2.1.4). */
function isInField(event: KeyboardEvent): boolean {
  return isIn(event, "input, textarea, select, [contenteditable], [role=menu], [role=listbox]");
}

/** An open dialog blocks shortcuts: the page behind it must not change, and the dialog must stay. */
function isInDialog(event: KeyboardEvent): boolean {
  return isIn(event, "[role=dialog], [role=alertdialog]");
}

function isIn({ target }: KeyboardEvent, selector: string): boolean {
  return target instanceof HTMLElement && target.closest(selector) !== null;
}

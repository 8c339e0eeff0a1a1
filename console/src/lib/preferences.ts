import { useSyncExternalStore } from "react";

/** The choices of an operator in this browser. `localStorage` holds no other data. */
export interface Preferences {
  readonly theme: "system" | "light" | "dark";
  readonly density: "regular" | "compact";
  readonly timeZone: "local" | "utc";
  readonly hasSingleKeys: boolean;
}

const storageKey = "rollcall.console"; // also read by public/theme.js
const defaults: Preferences = { theme: "system", density: "regular", timeZone: "local", hasSingleKeys: true };
const listeners = new Set<() => void>();
let current = read();

export function getPreferences(): Preferences {
  return current;
}

export function changePreferences(change: Partial<Preferences>): void {
  current = { ...current, ...change };
  try {
    localStorage.setItem(storageKey, JSON.stringify(current));
  } catch {
    // A browser without storage forgets the choice with the page.
  }
  window.dispatchEvent(new Event("rollcall:theme"));
  for (const listener of listeners) listener();
}

export function usePreferences(): Preferences {
  return useSyncExternalStore(subscribe, getPreferences);
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

function read(): Preferences {
  try {
    return { ...defaults, ...JSON.parse(localStorage.getItem(storageKey) ?? "{}") };
  } catch {
    return defaults;
  }
}

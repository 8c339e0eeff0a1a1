import { useSyncExternalStore } from "react";

const listeners = new Set<() => void>();
let current = "";

/** Names the page in the tab of the browser, and for `usePageTitle`. */
export function showPageTitle(title: string): void {
  document.title = `${title} · Rollcall`;
  current = title;
  for (const listener of listeners) listener();
}

/** The heading of the page that is open. */
export function usePageTitle(): string {
  return useSyncExternalStore(subscribe, () => current);
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

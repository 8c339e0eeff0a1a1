import { useSyncExternalStore } from "react";
import type { AppAnswer, AppCall } from "./explorer.calls.ts";

/** A call that was sent, and its answer. */
export interface Sent {
  readonly id: number;
  readonly at: number;
  readonly appid: string;
  readonly operationId: string;
  readonly call: AppCall;
  readonly answer: AppAnswer;
}

const sentMax = 50;
const listeners = new Set<() => void>();
let history: readonly Sent[] = [];
let lastId = 0;

/** The last calls of this tab, newest first; in memory only. */
export function useHistory(appid: string): readonly Sent[] {
  const all = useSyncExternalStore(subscribe, () => history);
  return all.filter((sent) => sent.appid === appid);
}

export function remember(sent: Omit<Sent, "id" | "at">): Sent {
  lastId += 1;
  const added = { ...sent, id: lastId, at: Date.now() };
  history = [added, ...history].slice(0, sentMax);
  for (const listener of listeners) listener();
  return added;
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

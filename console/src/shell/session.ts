import { queryOptions, useQueryClient, useSuspenseQuery } from "@tanstack/react-query";
import { useEffect, useSyncExternalStore } from "react";
import { onSessionEnd } from "../api/call.ts";
import { getSession, type Role, type Session } from "../api/sessions.ts";

export const sessionQuery = queryOptions({
  queryKey: ["session"],
  queryFn: ({ signal }) => getSession({}, { signal }),
  staleTime: Number.POSITIVE_INFINITY,
  retry: false,
});

/** The session; only for screens inside the frame, which waits for it. */
export function useSession(): Session {
  return useSuspenseQuery(sessionQuery).data;
}

const ranks: readonly Role[] = ["viewer", "editor", "owner"];

/** Whether the operator has at least this role. Actions that a role does not allow are not offered. */
export function useRole(least: Role): boolean {
  return ranks.indexOf(useSession().operator.role) >= ranks.indexOf(least);
}

const listeners = new Set<() => void>();
let hasEnded = false;

onSessionEnd(() => setEnded(true));

/** Whether the server no longer accepts the session of this page; the page stays, with its unsaved texts. */
export function useSessionEnded(): boolean {
  return useSyncExternalStore(
    (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    () => hasEnded,
  );
}

/** Loads again the data whose requests failed while the session had ended. */
export function useContinueSession(): () => Promise<void> {
  const queries = useQueryClient();
  return async () => {
    setEnded(false);
    await queries.invalidateQueries();
  };
}

const channelName = `rollcall ${new URL(".", document.baseURI).pathname}`;

/** Shows the sign-in in all tabs of this browser, once the session has ended. A new page holds nothing of the session. */
export function leaveEverywhere(): void {
  new BroadcastChannel(channelName).postMessage("signed out");
  leave();
}

/** Shows the sign-in when another tab has signed out. */
export function useLeavingWithOthers(): void {
  useEffect(() => {
    const channel = new BroadcastChannel(channelName);
    channel.addEventListener("message", leave);
    return () => channel.close();
  }, []);
}

function leave(): void {
  window.location.hash = "#/sign-in";
  window.location.reload();
}

function setEnded(next: boolean): void {
  hasEnded = next;
  for (const listener of listeners) listener();
}

import { type QueryClient, queryOptions, useQueryClient, useSuspenseQuery } from "@tanstack/react-query";
import { useEffect, useSyncExternalStore } from "react";
import type { CurrentOperatorSession, OperatorRole } from "../api/admin.ts";
import { type CallOptions, known, onSessionEnd, send } from "../api/send.ts";
import { findOperatorSession } from "../api/sessions.ts";
import { CallError } from "../lib/call-error.ts";

export const sessionQuery = queryOptions({
  queryKey: ["session"],
  queryFn: ({ signal }) => getSession({ signal }),
  staleTime: Number.POSITIVE_INFINITY,
  retry: false,
});

/** The session of the browser's cookie; only for screens inside the frame, which waits for it. */
export function useSession(): CurrentOperatorSession {
  return useSuspenseQuery(sessionQuery).data;
}

/** @throws CallError AuthFailed without a session; the response is not an HTTP error, because browsers log those */
export async function getSession(options?: CallOptions): Promise<CurrentOperatorSession> {
  const { session } = await send(findOperatorSession(), options);
  if (session === undefined) throw new CallError(401, { error: "AuthFailed", message: "You are not signed in." });
  return session;
}

const ranks: readonly OperatorRole[] = ["viewer", "editor", "owner"];

/** Whether the operator has at least this role. Actions that a role does not allow are not offered. */
export function useRole(least: OperatorRole): boolean {
  return ranks.indexOf(known(useSession().operator.role)) >= ranks.indexOf(least);
}

const listeners = new Set<() => void>();
let hasEnded = false;

onSessionEnd(() => setEnded(true));

/** Whether the server no longer accepts the session of this page; the page stays, with unsaved input. */
export function useSessionEnded(): boolean {
  return useSyncExternalStore(
    (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    () => hasEnded,
  );
}

/** Refetches the data whose requests failed while the session was invalid. */
export function useContinueSession(): () => Promise<void> {
  const queries = useQueryClient();
  return async () => {
    setEnded(false);
    await queries.invalidateQueries();
  };
}

/** To the other tabs, since they have the same cookie. One for the page, which does not receive its own messages. */
const channel = new BroadcastChannel(`rollcall ${new URL(".", document.baseURI).pathname}`);
type Message = "signed in" | "signed out";

/** Shows the sign-in in all tabs after the session is revoked. A new page contains no data of the session. */
export function leaveEverywhere(): void {
  tellOthers("signed out");
  leave();
}

/** Lets the other tabs of this browser go on with the session that has begun. */
export function enterEverywhere(): void {
  tellOthers("signed in");
}

function tellOthers(message: Message): void {
  channel.postMessage(message);
}

/** Shows the sign-in when another tab has signed out, and goes on with the session when another tab has signed in. */
export function useFollowingOthers(): void {
  const queries = useQueryClient();
  useEffect(() => {
    const onMessage = ({ data }: MessageEvent<Message>) => {
      if (data === "signed out") leave();
      else void goOn(queries);
    };
    channel.addEventListener("message", onMessage);
    return () => channel.removeEventListener("message", onMessage);
  }, [queries]);
}

/** Another operator gets a new page, which holds nothing of the former one. */
async function goOn(queries: QueryClient): Promise<void> {
  const known = queries.getQueryData(sessionQuery.queryKey);
  const current = await getSession().catch(() => undefined); // the next call of this page shows the error
  if (current === undefined) return;
  if (current.operator.id !== known?.operator.id) return window.location.reload();
  setEnded(false);
  await queries.invalidateQueries();
}

function leave(): void {
  window.location.hash = "#/sign-in";
  window.location.reload();
}

function setEnded(next: boolean): void {
  hasEnded = next;
  for (const listener of listeners) listener();
}

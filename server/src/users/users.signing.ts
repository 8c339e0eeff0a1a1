import type { Queries, Transaction } from "../db/database.ts";
import type { EventRecorder } from "../event-log/recorder.ts";
import type { CommandServices } from "../operations/services.ts";
import { accountEvent } from "./users.events.ts";

/** Records that a user has signed in, and at the first sign-in also that the user was created. */
export async function recordSignIn(
  applicationId: string,
  userId: string,
  isNew: boolean,
  events: EventRecorder,
  queries: Queries,
): Promise<void> {
  const created = isNew ? [accountEvent("created", userId)] : [];
  await events.record(applicationId, [...created, accountEvent("signed_in", userId)], queries);
}

/** Ends one token of a user. @returns false when the user has no such token */
export async function signOut(
  applicationId: string,
  userId: string,
  tokenId: string,
  { revocations, events }: Pick<CommandServices, "revocations" | "events">,
  transaction: Transaction,
): Promise<boolean> {
  const isThere = await revocations.endToken(applicationId, userId, tokenId, transaction);
  if (isThere) await events.record(applicationId, accountEvent("signed_out", userId), transaction.queries);
  return isThere;
}

import type { Queries } from "../db/database.ts";
import { isUniqueViolation } from "../db/dialect.ts";
import type { UserRow } from "../db/tables.ts";
import type { PutMail } from "../mail/outbox.ts";
import type { Services } from "../operations/services.ts";
import { type CodeOwner, deleteCodes } from "./users.codes.store.ts";
import { addressForCodes, emailNotices } from "./users.email.ts";
import { userChangedEvent } from "./users.events.ts";
import { userNameTaken } from "./users.names.ts";
import { updateUser } from "./users.store.ts";

/**
 * Stores the changed columns of a user. A changed address invalidates the codes that were mailed to the user.
 *
 * @param before the user, whose row the transaction has locked
 * @param isEndingCodes whether reset codes are invalidated in any case
 * @returns the changed user
 * @throws ApiError ItemAlreadyExists for a taken name
 */
export async function storeProfile(
  before: UserRow,
  changed: Partial<UserRow> & Pick<UserRow, "modified_at">,
  isEndingCodes: boolean,
  { mails, events }: Pick<Services, "mails" | "events">,
  queries: Queries,
): Promise<UserRow> {
  const { application_id: applicationId, id: userId } = before;
  const owner = { applicationId, userId };
  const now = { ...before, ...changed };
  await updateUser(applicationId, userId, changed, queries).catch((error) => {
    throw isUniqueViolation(error) ? userNameTaken() : error;
  });
  await events.record(applicationId, userChangedEvent(before, now), queries);
  const isOtherAddress = addressForCodes(now, now.modified_at) !== addressForCodes(before, now.modified_at);
  // Codes stay valid while their address is unchanged, so that a stolen token cannot keep invalidating them.
  if (isEndingCodes || isOtherAddress) await dropCodes({ ...owner, kind: "resetCode" }, { mails }, queries);
  if (now.email !== before.email) await dropCodes({ ...owner, kind: "verifyCode" }, { mails }, queries);
  return now;
}

/** Makes a user's codes of a kind invalid, also those whose mail still waits. */
export async function dropCodes(owner: CodeOwner, { mails }: Pick<Services, "mails">, queries: Queries): Promise<void> {
  await deleteCodes(owner, queries);
  await mails.dropCodes(owner.applicationId, owner.userId, owner.kind, queries);
}

/**
 * Writes the notices of a changed address, if it changed.
 *
 * @param language of the call, for a user whose language is unknown
 * @returns the mails to settle
 */
export async function putEmailNotices(
  before: UserRow,
  now: UserRow,
  { mails }: Pick<Services, "mails">,
  queries: Queries,
  language?: string,
): Promise<PutMail[]> {
  if (now.email === before.email) return [];
  const { application_id: applicationId, id: userId } = now;
  const put: PutMail[] = [];
  for (const notice of emailNotices(before, now, now.modified_at)) {
    put.push(await mails.putNotice({ applicationId, userId, language: now.language ?? language, ...notice }, queries));
  }
  return put;
}

import type { UserRow } from "../db/tables.ts";
import { addressKey, trimAddress } from "../lib/mail-addresses.ts";
import type { NoticeKind } from "../mail/default-texts.ts";

/** How long after its sign-in a token may change the address with immediate effect. */
export const freshSignInMs = 600_000;
const heldMs = 604_800_000;
const establishedMs = 86_400_000;

type EmailColumns = Pick<UserRow, "email" | "held_email" | "held_until" | "email_changed_at">;
type VerifiedColumns = Pick<UserRow, "verified_email_key" | "held_email_key">;
type ChangedEmailColumns = EmailColumns & VerifiedColumns;

/**
 * Returns the address for reset codes, or null. For seven days after an unproven change it is the former address, so
 * that a stolen token cannot take over the account.
 */
export function addressForCodes(user: EmailColumns, now: number): string | null {
  const address = isHeld(user, now) ? user.held_email : user.email;
  return address && trimAddress(address); // earlier releases did not trim addresses
}

/**
 * Whether a change keeps the address: clients send complete profiles back, and earlier releases did not trim addresses.
 */
export function isSameAddress(stored: string | null, given: string | null): boolean {
  return stored === given || (stored !== null && trimAddress(stored) === given);
}

function isHeld({ held_until }: EmailColumns, now: number): boolean {
  return held_until !== null && held_until > now;
}

/**
 * Returns the columns of a changed address.
 *
 * @param isProven whether the caller has just authenticated as the user; otherwise codes still go to the former address
 */
export function changedEmailColumns(
  before: ChangedEmailColumns,
  email: string | null,
  isProven: boolean,
  now: number,
): ChangedEmailColumns {
  const address = addressForCodes(before, now);
  const isHolding = !isProven && address !== email;
  return {
    email,
    email_changed_at: now,
    verified_email_key: null,
    // The first of several changes decides, because the later addresses were not proven either.
    held_email: isHolding ? address : null,
    held_until: isHolding ? now + heldMs : null,
    held_email_key: isHolding ? keyForCodes(before, now) : null,
  };
}

/** The unique form of the address for reset codes, if the user has verified it; else null. */
export function keyForCodes(user: ChangedEmailColumns, now: number): string | null {
  const address = addressForCodes(user, now);
  const key = isHeld(user, now) ? user.held_email_key : user.verified_email_key;
  // A process of an earlier version may have changed the address, and left the key of the former one.
  return key !== null && address !== null && addressKey(address) === key ? key : null;
}

/**
 * Returns the columns after a reset by code. The owner of the held address has authenticated, so an unproven change is
 * reverted; otherwise codes would go to the changed address after the seven days.
 *
 * @param codeCreatedAt when the code was mailed
 */
export function settledEmailColumns(
  user: ChangedEmailColumns,
  codeCreatedAt: number,
  now: number,
): Partial<ChangedEmailColumns> {
  if (user.held_email === null || !isHeld(user, codeCreatedAt)) return {};
  return {
    email: user.held_email,
    email_changed_at: now,
    held_email: null,
    held_until: null,
    verified_email_key: null,
  };
}

export interface EmailNotice {
  readonly to: string;
  readonly notice: NoticeKind;
  readonly isEstablished: boolean;
}

/** Returns the notices of a change, for the addresses that received mails before it. */
export function emailNotices(
  before: EmailColumns & Pick<UserRow, "created_at">,
  after: EmailColumns,
  now: number,
): EmailNotice[] {
  const isEstablished = now - (before.email_changed_at ?? before.created_at) >= establishedMs;
  const addresses = [...new Set([before.email && trimAddress(before.email), addressForCodes(before, now)])];
  return addresses
    .filter((address) => address !== null)
    .filter((address) => address !== after.email)
    .sort() // a fixed lock order prevents deadlocks between concurrent swaps of addresses
    .map((to) => ({
      to,
      isEstablished,
      notice: to === addressForCodes(after, now) ? ("addressHeld" as const) : ("addressChanged" as const),
    }));
}

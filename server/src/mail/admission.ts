import type { Queries } from "../db/database.ts";
import type { Clock } from "../lib/clock.ts";
import { addressKey, isPlainAddress } from "../lib/mail-addresses.ts";
import type { Secrets } from "../lib/secret-ring.ts";
import { createSigner } from "../lib/signer.ts";
import type { NoticeKind } from "./default-texts.ts";
import { type MailLimit, takeFromLimits } from "./mail-limits.ts";
import { isOutboxFull } from "./outbox.store.ts";

/** The recipient of a mail. */
export interface Recipient {
  readonly applicationId: string;
  readonly userId: string;
  readonly to: string;
  /** Whether the user has verified the address. */
  readonly isVerified?: boolean;
  /** The wanted language, a BCP 47 tag; English if it is absent. */
  readonly language?: string | null | undefined;
}

/** A mail that informs a user about a change of the account. */
export interface Notice extends Recipient {
  readonly notice: NoticeKind;
  /** False for an address that the user has had for less than a day. */
  readonly isEstablished: boolean;
}

export type MailRefusal = "user" | "address" | "notices" | "outbox" | "form";

/** Decides whether a mail that a caller causes may be written, and counts it; returns the reason for a refusal. */
export interface MailAdmission {
  admitCode(recipient: Recipient, queries: Queries): Promise<MailRefusal | undefined>;
  admitNotice(notice: Notice, queries: Queries): Promise<MailRefusal | undefined>;
  /** @returns false when the application has exhausted its limit of clients' texts to unverified addresses */
  admitClientText(applicationId: string, queries: Queries): Promise<boolean>;
  /** @returns false when the application has exhausted its test mails of an hour */
  admitTest(applicationId: string, queries: Queries): Promise<boolean>;
  /** @returns false when the application has exhausted its mails about webhooks of a day */
  admitWebhookMail(applicationId: string, queries: Queries): Promise<boolean>;
}

const hourMs = 3_600_000;
const dayMs = 86_400_000;
const codesPerHour = 5;
const noticesPerDay = 20;
const youngAddressNoticesPerDay = 5;
const clientTextsPerHour = 100;
const testsPerHour = 5;
const webhookMailsPerDay = 20;
const rowsMax = 10_000;

type NamedLimit = MailLimit & { readonly refusal: MailRefusal };

export function createMailAdmission(secrets: Secrets, clock: Clock): MailAdmission {
  const { sign: digest } = createSigner(secrets, "mail limit");

  function limit(refusal: MailRefusal, subject: string, max: number, periodMs: number): NamedLimit {
    return { refusal, subject: digest(subject), max, periodMs };
  }

  async function admit(
    { applicationId, to }: Recipient,
    limits: readonly NamedLimit[],
    queries: Queries,
  ): Promise<MailRefusal | undefined> {
    if (!isPlainAddress(to)) return "form";
    if (await isOutboxFull(applicationId, rowsMax, queries)) return "outbox";
    return (await takeFromLimits(applicationId, limits, clock.now(), queries))?.refusal;
  }

  return {
    admitCode(recipient, queries) {
      const ofUser = limit("user", `user ${recipient.userId}`, codesPerHour, hourMs);
      const ofAddress = limit("address", `address ${mailboxKey(recipient.to)}`, codesPerHour, hourMs);
      return admit(recipient, [ofUser, ofAddress], queries);
    },

    admitNotice(notice, queries) {
      const ofUser = limit("notices", `notices ${notice.userId}`, noticesPerDay, dayMs);
      const ofAddress = limit("notices", `notices to ${mailboxKey(notice.to)}`, youngAddressNoticesPerDay, dayMs);
      // Several users of an attacker could share out mails to a stranger's address, hence the limit per address. An
      // established address falls only under its user's limit, so that other users who enter it cannot silence it.
      return admit(notice, notice.isEstablished ? [ofUser] : [ofUser, ofAddress], queries);
    },

    async admitClientText(applicationId, queries) {
      const hourly = limit("user", "client texts", clientTextsPerHour, hourMs);
      return (await takeFromLimits(applicationId, [hourly], clock.now(), queries)) === undefined;
    },

    async admitTest(applicationId, queries) {
      const hourly = limit("user", "test mails", testsPerHour, hourMs);
      return (await takeFromLimits(applicationId, [hourly], clock.now(), queries)) === undefined;
    },

    async admitWebhookMail(applicationId, queries) {
      const daily = limit("user", "mails about webhooks", webhookMailsPerDay, dayMs);
      return (await takeFromLimits(applicationId, [daily], clock.now(), queries)) === undefined;
    },
  };
}

/** The key of a mailbox. An approximation, because mail servers differ on case and dots. */
function mailboxKey(address: string): string {
  return (addressKey(address) ?? address.trim()).toLowerCase();
}

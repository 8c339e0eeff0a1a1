import { createSealer } from "../lib/seal.ts";
import type { Secrets } from "../lib/secret-ring.ts";
import type { MailText } from "./mail-texts.ts";

/** The sealed content of an outbox row. */
export interface MailContent extends MailText {
  readonly to: string;
  readonly messageId: string;
}

/** Seals the contents of the outbox, each bound to its row. */
export interface OutboxSealer {
  seal(applicationId: string, id: string, content: MailContent): string;
  /** Undefined when it was sealed under another secret. */
  open(applicationId: string, id: string, sealed: string): MailContent | undefined;
}

export function createOutboxSealer(secrets: Secrets): OutboxSealer {
  const sealer = createSealer(secrets, "mail outbox");
  return {
    seal: (applicationId, id, content) => sealer.seal(JSON.stringify(content), `${applicationId} ${id}`),
    open(applicationId, id, sealed) {
      const opened = sealer.open(sealed, `${applicationId} ${id}`);
      return opened === undefined ? undefined : JSON.parse(opened); // the seal authenticates its shape
    },
  };
}

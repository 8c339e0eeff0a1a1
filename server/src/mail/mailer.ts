import { join } from "node:path";
import { LRUCache } from "lru-cache";
import type { Transporter } from "nodemailer";
import type { Config } from "../config.ts";
import type { Clock } from "../lib/clock.ts";
import type { Log } from "../log.ts";
import { createMailFolder } from "./mail-folder.ts";

/** A plain text mail to one user. */
export interface Mail {
  /** Whom it is for: what the log names in place of the address. */
  readonly userId: string;
  readonly to: string;
  /** Line breaks and other control characters become blanks. */
  readonly subject: string;
  readonly text: string;
  /** What an application has set in place of SMTP_URL and MAIL_FROM. */
  readonly outgoing?: {
    readonly smtpUrl?: string;
    readonly from?: { readonly name: string; readonly address: string } | undefined;
  };
}

/** Sends mails, or writes them into a folder where no server for them is set. */
export interface Mailer {
  /** Loads what sends mails, so that the first mail takes no longer than the others. */
  load(): Promise<void>;
  /**
   * Resolves when the mail has been handed on. To anything but one plain address nothing is sent, and that is logged.
   *
   * @throws Error without the address or the text in it, also when too many mails are on their way
   */
  send(mail: Mail): Promise<void>;
}

const sendingMax = 64;
const transportsMax = 100;
const timeoutMs = 10_000;

/** Mails through SMTP_URL or what an application has in its place, or as `.eml` files into DATA_DIR/mail. */
export function createMailer(
  { smtpUrl, mailFrom, dataDir }: Pick<Config, "smtpUrl" | "mailFrom" | "dataDir">,
  { clock, log }: { readonly clock: Clock; readonly log: Log },
): Mailer {
  const folder = createMailFolder(join(dataDir, "mail"), clock);
  /** By their URL, "" for the folder. None of them holds a connection open. */
  const transports = new LRUCache<string, Promise<Transporter>>({ max: transportsMax });
  let sending = 0;

  function load(url = smtpUrl): Promise<Transporter> {
    const transport = transports.get(url ?? "") ?? openTransport(url);
    transports.set(url ?? "", transport);
    return transport;
  }

  async function sendNow({ to, subject, text, outgoing }: Mail): Promise<void> {
    const url = outgoing?.smtpUrl ?? smtpUrl;
    const sent = await (await load(url)).sendMail({
      from: outgoing?.from ?? mailFrom,
      to: { name: "", address: to },
      subject: subject.replaceAll(/[\p{Cc}\p{Zl}\p{Zp}]+/gu, " "),
      text,
      date: new Date(clock.now()),
      headers: { "Auto-Submitted": "auto-generated" }, // RFC 3834: no answers from vacation programs
      xMailer: false,
      signal: AbortSignal.timeout(timeoutMs),
    });
    if (url !== undefined) return;
    const file = await folder.write(sent.message);
    log.info({ file }, "no SMTP_URL is set: a mail was written to the folder mail in DATA_DIR");
  }

  return {
    async load() {
      await load();
    },
    async send(mail) {
      if (!isPlainAddress(mail.to)) {
        log.warn({ user: mail.userId }, "no mail was sent: the user's address is not one plain address");
        return;
      }
      if (sending >= sendingMax) throw new Error(`no mail was sent: ${sendingMax} others are on their way`);
      sending += 1;
      try {
        await sendNow(mail);
      } catch (error) {
        throw withoutDetails(error);
      } finally {
        sending -= 1;
      }
    },
  };
}

/** True for one address and nothing else: no list, no name, no comment, nothing that would end a header line. */
export function isPlainAddress(text: string): boolean {
  return text.length <= addressCharactersMax && addressPattern.test(text);
}

const addressCharactersMax = 320;
const addressPattern = /^[^\s\p{Cc}\p{Cf},;:<>()[\]"\\@]+@[^\s\p{Cc}\p{Cf},;:<>()[\]"\\@]+$/u;

/** Loaded on first use: most deployments start more often than they send a mail. */
async function openTransport(smtpUrl: string | undefined): Promise<Transporter> {
  const { createTransport } = await import("nodemailer");
  if (smtpUrl === undefined) return createTransport({ streamTransport: true, buffer: true, newline: "windows" });
  // A connection for each mail: they are few, and none is left open when the process ends.
  return createTransport({
    url: smtpUrl,
    connectionTimeout: timeoutMs,
    greetingTimeout: timeoutMs,
    socketTimeout: timeoutMs,
    dnsTimeout: timeoutMs,
  });
}

/** What servers answer names the address, so their codes have to do. */
function withoutDetails(error: unknown): Error {
  const { name, code, responseCode, command } = error as {
    [Name in "name" | "code" | "responseCode" | "command"]?: unknown;
  };
  const details = [code ?? name, responseCode, command].filter((detail) => detail !== undefined);
  return new Error(`a mail was not sent: ${details.join(", ")}`);
}

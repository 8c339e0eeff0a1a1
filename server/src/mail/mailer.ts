import { randomBytes } from "node:crypto";
import { mkdir, rename, rm, writeFile } from "node:fs/promises";
import { isIP, isIPv6 } from "node:net";
import { join } from "node:path";
import type { Transporter } from "nodemailer";
import type { Config } from "../config/config.ts";
import type { Log } from "../config/log.ts";
import type { Outgoing } from "../http/outgoing/outgoing.ts";
import type { Clock } from "../lib/clock.ts";
import { fieldsOf } from "../lib/fields.ts";
import { LruMap } from "../lib/lru-map.ts";
import { openTransport } from "./transport.ts";

/** A plain text mail to one address. */
export interface Mail {
  readonly to: string;
  /** Line breaks and other control characters become blanks. */
  readonly subject: string;
  readonly text: string;
  /** The same for every attempt to send the mail. */
  readonly messageId: string;
  readonly from: Sender;
}

export interface Sender {
  readonly name: string;
  readonly address: string;
}

/** A mail that was not sent. Contains only codes, because answers of servers contain the address. */
export class MailFailure extends Error {
  /** True when the server refused this mail permanently (5xx). */
  readonly isDead: boolean;
  readonly smtpCode: number | undefined;
  /** True when the server itself failed, rather than rejected a recipient or text that a caller chose. */
  readonly isOfServer: boolean;
  /** The part of the conversation that failed, for operators. */
  readonly problem: MailProblem;

  constructor(error: unknown) {
    const { name, code, responseCode, command } = fieldsOf(error);
    const details = [code ?? name, responseCode, command].filter((detail) => detail !== undefined);
    super(`a mail was not sent: ${details.join(", ")}`);
    this.name = "MailFailure";
    this.smtpCode = typeof responseCode === "number" ? responseCode : undefined;
    // A refused login or a missing STARTTLS says nothing about the mail, which waits until the settings are right.
    const isVerdict = code === "EENVELOPE" || code === "EMESSAGE";
    this.isDead = isVerdict && (this.smtpCode ?? 0) >= 500;
    this.isOfServer = !isVerdict;
    this.problem = isVerdict ? "refused" : code === "EAUTH" ? "signIn" : code === "ETLS" ? "encryption" : "unreachable";
  }
}

export type MailProblem = "unreachable" | "encryption" | "signIn" | "refused";

/** Sends mails, or writes them to a folder if no server is configured. */
export interface Mailer {
  /** Loads the library in advance, so that the first mail takes no longer than the others. */
  load(): Promise<void>;
  /**
   * Resolves when the server has accepted the mail.
   *
   * @param smtpUrl undefined for a file in DATA_DIR/mail
   * @param isPublicOnly true when smtpUrl may only lead to public addresses
   * @throws MailFailure
   */
  send(mail: Mail, smtpUrl: string | undefined, isPublicOnly?: boolean): Promise<void>;
}

const transportsMax = 100;
const timeoutMs = 10_000;

/** Sends mails through SMTP servers, or writes them as `.eml` files to DATA_DIR/mail. */
export function createMailer(
  { dataDir }: Pick<Config, "dataDir">,
  services: { readonly outgoing: Pick<Outgoing, "findPublicAddresses">; readonly clock: Clock; readonly log: Log },
): Mailer {
  const { clock, log } = services;
  const folder = createMailFolder(join(dataDir, "mail"), clock);
  /** By URL, "" for the folder. No transport holds a connection open. */
  const transports = new LruMap<string, Promise<Transporter>>(transportsMax);

  function load(url: string | undefined): Promise<Transporter> {
    const transport = transports.get(url ?? "") ?? openTransport(url, { timeoutMs });
    transports.set(url ?? "", transport);
    return transport;
  }

  /** Not cached, because each lookup of the name may return other addresses. */
  async function openPublic(smtpUrl: string): Promise<Transporter> {
    const url = new URL(smtpUrl);
    const { hostname } = url;
    const [address = ""] = await services.outgoing.findPublicAddresses(hostname);
    url.hostname = isIPv6(address) ? `[${address}]` : address;
    return openTransport(url.href, { timeoutMs, ...(isName(hostname) && { servername: hostname }) });
  }

  async function sendNow(mail: Mail, url: string | undefined, isPublicOnly: boolean): Promise<void> {
    const { to, subject, text, messageId, from } = mail;
    const transport = await (isPublicOnly && url !== undefined ? openPublic(url) : load(url));
    const sent = await transport.sendMail({
      from,
      to: { name: "", address: to },
      subject: subject.replaceAll(/[\p{Cc}\p{Zl}\p{Zp}]+/gu, " "),
      text,
      messageId,
      date: new Date(clock.now()),
      headers: { "Auto-Submitted": "auto-generated" }, // RFC 3834: prevents automatic replies
      xMailer: false,
      signal: AbortSignal.timeout(timeoutMs),
    });
    if (url !== undefined) return;
    const file = await folder.write(sent.message);
    log.info({ file }, "no SMTP_URL is set: a mail was written to the folder mail in DATA_DIR");
  }

  return {
    async load() {
      await load(undefined);
    },
    async send(mail, smtpUrl, isPublicOnly = false) {
      try {
        await sendNow(mail, smtpUrl, isPublicOnly);
      } catch (error) {
        throw new MailFailure(error);
      }
    },
  };
}

/** False for an IP address, which SNI does not allow. */
function isName(hostname: string): boolean {
  return isIP(hostname.replaceAll(/[[\]]/g, "")) === 0;
}

/** Stores mails as files instead of sending them, for trials and tests. */
interface MailFolder {
  /** Writes a mail atomically, readable by this account only. @returns the file's name, which sorts by time */
  write(bytes: Uint8Array): Promise<string>;
}

function createMailFolder(folder: string, clock: Clock): MailFolder {
  let writtenLast = 0;
  return {
    async write(bytes) {
      writtenLast = Math.max(clock.now(), writtenLast + 1); // preserves the order within one millisecond
      const time = new Date(writtenLast).toISOString().replaceAll(":", "-");
      const name = `${time}-${randomBytes(6).toString("hex")}.eml`;
      await mkdir(folder, { recursive: true, mode: 0o700 });
      const draft = join(folder, `.${name}.draft`);
      try {
        await writeFile(draft, bytes, { mode: 0o600, flag: "wx", flush: true });
        await rename(draft, join(folder, name));
      } catch (error) {
        await rm(draft, { force: true });
        throw error;
      }
      return name;
    },
  };
}

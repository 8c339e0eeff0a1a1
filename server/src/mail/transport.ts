import type { Transporter } from "nodemailer";
import { fieldsOf } from "../lib/fields.ts";

/** Credentials must not cross a network unencrypted: the server must offer STARTTLS. */
function isTlsRequired({ protocol, hostname, username, password }: URL): boolean {
  const isLoopback = /^(?:localhost|\[::1\]|127(?:\.\d{1,3}){3})$/i.test(hostname);
  return protocol === "smtp:" && (username !== "" || password !== "") && !isLoopback;
}

export interface TransportOptions {
  /** The limit of each step of a connection. */
  readonly timeoutMs: number;
  /** The name that the certificate must have when the URL contains an address instead. */
  readonly servername?: string;
}

/** Loaded on first use: most deployments start more often than they send a mail. */
export async function openTransport(
  smtpUrl: string | undefined,
  { timeoutMs, servername }: TransportOptions,
): Promise<Transporter> {
  const { createTransport } = await import("nodemailer");
  if (smtpUrl === undefined) return createTransport({ streamTransport: true, buffer: true, newline: "windows" });
  const url = new URL(smtpUrl);
  const requireTLS = isTlsRequired(url);
  // The query of a URL would take precedence over the options.
  if (requireTLS) for (const name of ["requireTLS", "secure"]) url.searchParams.delete(name);
  // One connection per mail: mails are rare, and no connection outlives the process.
  return createTransport({
    url: url.href,
    requireTLS,
    ...(servername !== undefined && { servername }),
    connectionTimeout: timeoutMs,
    greetingTimeout: timeoutMs,
    socketTimeout: timeoutMs,
    dnsTimeout: timeoutMs,
  });
}

const stepTimeoutMs = 5_000;
/** The time limit of the complete check; each step of the conversation has a separate timeout. */
const timeoutMs = 15_000;

/**
 * Connects to a mail server and signs in, without sending a mail.
 *
 * @returns the reason why the server cannot be used, without any password; undefined when it can
 */
export async function findMailProblem(smtpUrl: string): Promise<string | undefined> {
  const transport = await openTransport(smtpUrl, { timeoutMs: stepTimeoutMs });
  const { promise: expired, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => reject({ code: "ETIMEDOUT" }), timeoutMs);
  try {
    await Promise.race([transport.verify(), expired]);
    return undefined;
  } catch (error) {
    const { code, responseCode, command } = fieldsOf(error);
    const cause = [code, responseCode, command].filter((each) => each !== undefined).join(", ");
    return `SMTP_URL: ${targetOf(smtpUrl)} does not take mails from us (${cause}).`;
  } finally {
    clearTimeout(timer);
    transport.close();
  }
}

/** The host and port that a mail is sent to. */
export function targetOf(smtpUrl: string): string {
  const { protocol, hostname, port } = new URL(smtpUrl);
  return `${hostname}:${port || (protocol === "smtps:" ? "465" : "587")}`;
}

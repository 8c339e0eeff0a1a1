import type { Transporter } from "nodemailer";

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
  // A connection per mail: mails are rare, and none is left open when the process ends.
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

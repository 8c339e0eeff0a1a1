import { parseSender } from "../config.ts";

/** How mails to the users of one application go out, in place of how those of the deployment do. */
export interface MailSettings {
  /** An address, or a name and an address in angle brackets. */
  readonly from?: string;
  /** Holds a password as a rule, so it is shown by {@link withoutPassword} alone. */
  readonly smtpUrl?: string;
}

export const mailMembers: readonly (keyof MailSettings)[] = ["from", "smtpUrl"];

/** Judges the members of `mail`; what is wrong with them, never what they hold, is added to the problems. */
export function readMailSettings(members: ReadonlyMap<string, unknown>, problems: string[]): MailSettings {
  const [from, smtpUrl] = [members.get("from"), members.get("smtpUrl")];
  const isSender = typeof from === "string" && parseSender(from) !== undefined && isLine(from);
  if (typeof from === "string" && from.length > charactersMax) {
    problems.push(`mail.from must have at most ${charactersMax} characters`);
  }
  const isServer = typeof smtpUrl === "string" && isSmtpUrl(smtpUrl);
  if (members.has("from") && !isSender) {
    problems.push("mail.from must be an address, or a name and an address in angle brackets");
  }
  if (members.has("smtpUrl") && !isServer) {
    problems.push("mail.smtpUrl must be an smtp:// or smtps:// URL with a host, and without a path or a query");
  }
  return { ...(isSender && { from }), ...(isServer && { smtpUrl }) };
}

/** What may be shown: of the URL everything but its password. */
export function withoutPassword(mail: MailSettings): MailSettings {
  return mail.smtpUrl === undefined ? mail : { ...mail, smtpUrl: stripped(mail.smtpUrl) };
}

/** Settings that were shown and come back keep their password: that of the same user at the same server. */
export function withKeptPassword(given: MailSettings, stored: MailSettings | undefined): MailSettings {
  const { smtpUrl } = stored ?? {};
  const isSame = given.smtpUrl !== undefined && smtpUrl !== undefined && given.smtpUrl === stripped(smtpUrl);
  return isSame ? { ...given, smtpUrl } : given;
}

function stripped(smtpUrl: string): string {
  const url = new URL(smtpUrl);
  url.password = "";
  return url.href;
}

function isSmtpUrl(text: string): boolean {
  if (text.length > charactersMax || !isLine(text) || !URL.canParse(text)) return false;
  const { protocol, hostname, pathname, search, hash } = new URL(text);
  // A query would set what the sender of mails does with the connection, and what it tells of it.
  return /^smtps?:$/.test(protocol) && hostname !== "" && /^\/?$/.test(pathname) && search === "" && hash === "";
}

const charactersMax = 2_000;

function isLine(text: string): boolean {
  return text.isWellFormed() && !/[\p{Cc}\p{Zl}\p{Zp}]/u.test(text);
}

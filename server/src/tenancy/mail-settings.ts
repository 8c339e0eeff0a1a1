import { parseSender } from "../config/mail-sender.ts";
import { languageTag } from "../lib/languages.ts";

/**
 * Replaces `mail.smtpUrl` in stored settings while the URL itself is sealed. Processes of the previous version use it
 * as the mail server: the name never resolves (RFC 6761), so they postpone the mail, and a process of this version
 * sends it.
 */
export const sealedSmtpUrl = "smtp://sealed.invalid";

/** The delivery of mails to the users of one application; overrides the deployment's settings. */
export interface MailSettings {
  /** An address, or a name and an address in angle brackets. */
  readonly from?: string;
  /** Usually contains a password, so it is shown only through {@link withoutPassword}. */
  readonly smtpUrl?: string;
  /** `fixed` sends only the application's own texts; `client` (the default) also clients' harmless texts. */
  readonly templates?: "client" | "fixed";
  /** Hosts to which clients' texts may link, including all hosts below them. */
  readonly linkHosts?: readonly string[];
  /** Replace the default texts. */
  readonly texts?: MailTexts;
  /** The same for users of a language, by BCP 47 tag. */
  readonly textsByLanguage?: Readonly<Record<string, MailTexts>>;
}

/** Mail settings with their secret. */
export interface GuardedMailSettings extends MailSettings {
  /** True when smtpUrl cannot be decrypted with the secrets of this deployment. */
  readonly isLocked: boolean;
  /** True when smtpUrl may only lead to public addresses, because an editor has set it. */
  readonly isPublicOnly: boolean;
}

export type MailTextKind = keyof typeof placeholderOfText;

export type MailTexts = Partial<Record<MailTextKind, GivenMailText>>;

export interface GivenMailText {
  readonly subject: string;
  readonly body: string;
}

export const mailMembers: readonly (keyof MailSettings)[] = [
  ...(["from", "smtpUrl", "templates", "linkHosts", "texts", "textsByLanguage"] as const),
];

/** The placeholder that the body of each text must contain. */
const placeholderOfText = { resetCode: "@ResetCode", verifyCode: "@VerifyCode", notice: "@Notice" } as const;
const subjectCharactersMax = 256;
const bodyCharactersMax = 4_000;
const linkHostsMax = 20;
const languagesMax = 50;

/** Validates the members of `mail`; adds invalid ones to the problems, without quoting their values. */
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
  return {
    ...(isSender && { from }),
    ...(isServer && { smtpUrl }),
    ...(members.has("templates") && { templates: readTemplates(members.get("templates"), problems) }),
    ...(members.has("linkHosts") && { linkHosts: readLinkHosts(members.get("linkHosts"), problems) }),
    ...(members.has("texts") && { texts: readTexts("mail.texts", members.get("texts"), problems) }),
    ...(members.has("textsByLanguage") && {
      textsByLanguage: readTextsByLanguage(members.get("textsByLanguage"), problems),
    }),
  };
}

function readTemplates(value: unknown, problems: string[]): "client" | "fixed" {
  if (value === "client" || value === "fixed") return value;
  problems.push("mail.templates must be client or fixed");
  return "client";
}

function readLinkHosts(value: unknown, problems: string[]): readonly string[] {
  const hosts = Array.isArray(value) ? value : [];
  if (Array.isArray(value) && hosts.length <= linkHostsMax && hosts.every(isHostName)) {
    return hosts.map((host) => host.toLowerCase());
  }
  problems.push(`mail.linkHosts must be a list of at most ${linkHostsMax} host names, such as app.example.com`);
  return [];
}

/** A single label is refused, because it would allow all hosts of a top-level domain. */
function isHostName(value: unknown): boolean {
  return typeof value === "string" && value.length <= 253 && hostNamePattern.test(value);
}

const hostNamePattern = /^[\p{L}\p{M}\p{N}-]+(?:\.[\p{L}\p{M}\p{N}-]+)+$/u;

function readTextsByLanguage(value: unknown, problems: string[]): Record<string, MailTexts> {
  const given = membersOf("mail.textsByLanguage", value, undefined, problems);
  if (given.size > languagesMax) problems.push(`mail.textsByLanguage must have at most ${languagesMax} members`);
  const read = [...given].map(([tag, texts]) => {
    if (languageTag(tag) === undefined) {
      problems.push(
        `the name ${JSON.stringify(tag)} in mail.textsByLanguage must be a language tag such as de or pt-BR`,
      );
    }
    return [tag, readTexts(`mail.textsByLanguage.${tag}`, texts, problems)] as const;
  });
  return Object.fromEntries(read);
}

function readTexts(where: string, value: unknown, problems: string[]): MailTexts {
  const kinds = Object.keys(placeholderOfText) as MailTextKind[]; // Object.keys forgets the key type
  const given = membersOf(where, value, kinds, problems);
  const read: [kind: MailTextKind, text: GivenMailText][] = [];
  for (const kind of kinds) {
    if (!given.has(kind)) continue;
    const path = `${where}.${kind}`;
    const text = membersOf(path, given.get(kind), ["subject", "body"], problems);
    const [subject, body] = [text.get("subject"), text.get("body")];
    if (!isTextUpTo(subjectCharactersMax, subject) || !isLine(subject)) {
      problems.push(`${path}.subject must be one line of 1 to ${subjectCharactersMax} characters`);
    } else if (!isTextUpTo(bodyCharactersMax, body) || !body.includes(placeholderOfText[kind])) {
      problems.push(
        `${path}.body must have 1 to ${bodyCharactersMax} characters, with ${placeholderOfText[kind]} in it`,
      );
    } else read.push([kind, { subject, body }]);
  }
  return Object.fromEntries(read);
}

function membersOf(
  path: string,
  value: unknown,
  allowed: readonly string[] | undefined,
  problems: string[],
): ReadonlyMap<string, unknown> {
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    problems.push(`${path} must be an object`);
    return new Map();
  }
  for (const name of Object.keys(value).filter((each) => allowed?.includes(each) === false)) {
    problems.push(`${path} has an unknown member ${JSON.stringify(name)}; it can have ${allowed?.join(", ")}`);
  }
  return new Map(Object.entries(value));
}

function isTextUpTo(charactersMax: number, value: unknown): value is string {
  if (typeof value !== "string" || value.trim() === "" || value.length > 2 * charactersMax) return false;
  return [...value].length <= charactersMax && value.isWellFormed() && !value.includes("\0");
}

/** The settings as they may be shown: the URL without its password. */
export function withoutPassword(mail: MailSettings): MailSettings {
  return mail.smtpUrl === undefined ? mail : { ...mail, smtpUrl: stripped(mail.smtpUrl) };
}

/**
 * Restores the password of settings that were shown and are sent back, if user and server are unchanged. The
 * placeholder that a process without the secret, or of the previous version, shows instead of the URL restores the URL.
 */
export function withKeptPassword(given: MailSettings, stored: MailSettings | undefined): MailSettings {
  const { smtpUrl } = stored ?? {};
  if (given.smtpUrl === undefined || smtpUrl === undefined) return given;
  const isSame = given.smtpUrl === sealedSmtpUrl || given.smtpUrl === stripped(smtpUrl);
  return isSame ? { ...given, smtpUrl } : given;
}

function stripped(smtpUrl: string): string {
  const url = new URL(smtpUrl);
  url.password = "";
  return url.href;
}

/** Whether the string is only the name of a mail server. */
export function isSmtpUrl(text: string): boolean {
  if (text.length > charactersMax || !isLine(text) || !URL.canParse(text)) return false;
  const { protocol, hostname, pathname, search, hash } = new URL(text);
  // A query would change options of the mail library, including its logging.
  return /^smtps?:$/.test(protocol) && hostname !== "" && /^\/?$/.test(pathname) && search === "" && hash === "";
}

const charactersMax = 2_000;

function isLine(text: string): boolean {
  return text.isWellFormed() && !/[\p{Cc}\p{Zl}\p{Zp}]/u.test(text);
}

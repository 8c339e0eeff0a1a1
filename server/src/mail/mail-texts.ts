import { isIPv6 } from "node:net";
import { lookUpLanguage } from "../lib/languages.ts";
import type { GivenMailText, MailSettings, MailTextKind } from "../tenancy/mail-settings.ts";
import { type DefaultTexts, defaultTexts, type NoticeKind } from "./default-texts.ts";

/** Characters that mail programs do not show. */
const invisible = /[\p{Default_Ignorable_Code_Point}\p{Cf}]|(?!\s)\p{Cc}/gu;
/** Full stops between the labels of a host name (UTS #46) that NFKC does not change. */
const fullStops = /[。｡]/gu;

const label = String.raw`[\p{L}\p{M}\p{N}-]+`;
const before = String.raw`(?<![\p{L}\p{M}\p{N}_.@-])`;
/** A full stop may end the sentence. */
const behind = String.raw`(?![\p{L}\p{M}\p{N}_@-]|\.[\p{L}\p{M}\p{N}_-])`;

/** A host name, with the surrounding text that a mail program would include in its link or address. */
const linkPattern = new RegExp(
  String.raw`(?:https?:\/\/|mailto:)?(?:${before}[\w.+-]+@|${before})((?:${label}\.)*${label})${behind}(?::\d+)?(?:\/[\w.~%/?#=&+-]*)?`,
  "giu",
);

const foreignPattern = new RegExp(
  [
    ":\\/\\/",
    "mailto:",
    "tel:",
    // The recipient's program would decode an encoded word (RFC 2047).
    "=\\?",
    String.raw`[\p{L}\p{M}\p{N}-]\.\p{L}\p{M}*\p{L}`,
    "\\S@\\S",
    String.raw`\d{1,3}(?:\.\d{1,3}){3}`,
  ].join("|"),
  "iu",
);

/**
 * True when the text of a mail contains a link, or an address that mail programs turn into one, whose host is neither
 * one of `linkHosts` nor below one of them. Checks the text as its recipient sees it: in NFKC and without invisible
 * characters.
 *
 * @param placeholders the placeholders of codes
 */
function holdsForeignLink(text: string, placeholders: readonly string[], linkHosts: readonly string[]): boolean {
  const withoutPlaceholders = placeholders.reduce((rest, placeholder) => rest.replaceAll(placeholder, ""), text);
  const seen = fold(fold(withoutPlaceholders));
  const rest = seen.replaceAll(linkPattern, (whole, host: string) => (isBelow(host, linkHosts) ? "*" : whole));
  return foreignPattern.test(rest) || (rest.match(/[\da-f:.]{2,}/giu) ?? []).some((word) => isIPv6(word));
}

function fold(text: string): string {
  return text.replaceAll(invisible, "").normalize("NFKC").replaceAll(fullStops, ".");
}

function isBelow(host: string, linkHosts: readonly string[]): boolean {
  const name = host.toLowerCase();
  return linkHosts.some((allowed) => name === allowed || name.endsWith(`.${allowed}`));
}

/** A mail as its recipient reads it. */
export interface MailText {
  readonly subject: string;
  readonly text: string;
}

/** The reason why a client's text is not sent. */
export type ReplacedFor = "length" | "link" | "hourly";

const subjectCharactersMax = 100;
const bodyCharactersMax = 2_000;

/** The placeholders of codes. */
export const codePlaceholders = { resetCode: "@ResetCode", verifyCode: "@VerifyCode" } as const;
/** The placeholder of the sentences of a notice. */
export const noticePlaceholder = "@Notice";

/**
 * The reason why a client's text could be abused to write to strangers; undefined if it is harmless
 * (spec/mail#mail-texts).
 */
export function checkClientText(
  { subject, body }: GivenMailText,
  placeholder: string,
  { linkHosts = [] }: MailSettings,
): ReplacedFor | undefined {
  if ([...subject].length > subjectCharactersMax || [...body].length > bodyCharactersMax) return "length";
  return [subject, body].some((text) => holdsForeignLink(text, [placeholder], linkHosts)) ? "link" : undefined;
}

/** The name of the application, its mail settings, and the language of the recipient. */
export interface MailSource {
  readonly name: string;
  readonly settings: MailSettings;
  readonly language: string | null | undefined;
}

/** A client's text with the code, above a footer that callers cannot influence. */
export function clientText(
  { subject, body }: GivenMailText,
  placeholder: string,
  code: string,
  { name, language }: MailSource,
): MailText {
  const { footer } = defaultTextsOf(language);
  const lines = ["--", line(name), ...footer, ""].join("\n");
  return { subject, text: `${body.replaceAll(placeholder, () => code)}\n\n${lines}` };
}

/**
 * Returns the application's own subject and body, with the placeholder: those of the language, else those of all
 * languages, else the service's (spec/mail#mail-languages).
 */
export function ownTexts(kind: MailTextKind, { name, settings, language }: MailSource): GivenMailText {
  const { texts = {}, textsByLanguage = {} } = settings;
  const ofKind = Object.entries(textsByLanguage).flatMap(([tag, { [kind]: text }]) =>
    text === undefined ? [] : [[tag, text] as const],
  );
  const own = lookUpLanguage(Object.fromEntries(ofKind), language) ?? texts[kind];
  if (own !== undefined) return own;
  const fill = (text: string) => text.replaceAll("@Name", () => line(name));
  const defaults = defaultTextsOf(language);
  if (kind === "notice")
    return { subject: fill(defaults.noticeSubject), body: `${line(name)}\n\n${noticePlaceholder}\n` };
  const { subject, before, after } = defaults[kind];
  return { subject: fill(subject), body: [fill(before), "", codePlaceholders[kind], "", after, ""].join("\n") };
}

/** Returns the application's own text, or the default. @param written an operator's text in its place */
export function ownText(
  kind: MailTextKind,
  filling: { readonly placeholder: string; readonly value: string },
  source: MailSource,
  written: Partial<GivenMailText> = {},
): MailText {
  const own = ownTexts(kind, source);
  const { subject = own.subject, body = own.body } = written;
  return { subject, text: body.replaceAll(filling.placeholder, () => filling.value) };
}

/** The sentences of a notice. */
export function noticeText(kind: NoticeKind, language: string | null | undefined): string {
  return defaultTextsOf(language).notices[kind].join("\n");
}

function defaultTextsOf(language: string | null | undefined): DefaultTexts {
  return lookUpLanguage(defaultTexts, language) ?? defaultTexts.en;
}

function line(name: string): string {
  return name.replaceAll(/[\s\p{C}]+/gu, " ").trim();
}

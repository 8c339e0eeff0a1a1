import { isIPv6 } from "node:net";
import type { GivenMailText, MailSettings, MailTextKind } from "../tenancy/mail-settings.ts";

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

/** A client's text with the code, above a footer that callers cannot influence. */
export function clientText(
  { subject, body }: GivenMailText,
  placeholder: string,
  code: string,
  name: string,
): MailText {
  return { subject, text: `${body.replaceAll(placeholder, () => code)}\n\n${footer(name)}` };
}

/** Returns the application's own subject and body, or the default ones, with the placeholder. */
export function ownTexts(kind: MailTextKind, { texts = {} }: MailSettings, name: string): GivenMailText {
  return texts[kind] ?? defaultTexts[kind](line(name));
}

/** Returns the application's own text, or the default. @param written an operator's text in its place */
export function ownText(
  kind: MailTextKind,
  filling: { readonly placeholder: string; readonly value: string },
  settings: MailSettings,
  name: string,
  written: Partial<GivenMailText> = {},
): MailText {
  const own = ownTexts(kind, settings, name);
  const { subject = own.subject, body = own.body } = written;
  return { subject, text: body.replaceAll(filling.placeholder, () => filling.value) };
}

const defaultTexts: Readonly<Record<MailTextKind, (name: string) => GivenMailText>> = {
  resetCode: (name) => ({
    subject: `${name}: your code for a new password`,
    body: [
      `With this code you can set a new password for your account at ${name}:`,
      "",
      codePlaceholders.resetCode,
      "",
      "If you did not ask for it, ignore this mail.",
      "",
    ].join("\n"),
  }),
  verifyCode: (name) => ({
    subject: `${name}: your code for this address`,
    body: [
      `With this code you confirm that this is the address of your account at ${name}:`,
      "",
      codePlaceholders.verifyCode,
      "",
      "If you did not ask for it, ignore this mail.",
      "",
    ].join("\n"),
  }),
  notice: (name) => ({ subject: `${name}: your account was changed`, body: `${name}\n\n${noticePlaceholder}\n` }),
};

/** Lines short enough to be sent without an encoding. */
function footer(name: string): string {
  return [
    "--",
    line(name),
    "You get this mail because a code was requested for an account with",
    "this address. If that was not you, ignore it.",
    "",
  ].join("\n");
}

function line(name: string): string {
  return name.replaceAll(/[\s\p{C}]+/gu, " ").trim();
}

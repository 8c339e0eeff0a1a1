import type { GivenMailText, MailSettings, MailTextKind } from "../tenancy/mail-settings.ts";
import { holdsForeignLink } from "./link-filter.ts";

/** A mail as its recipient reads it. */
export interface MailText {
  readonly subject: string;
  readonly text: string;
}

/** The reason why a client's text is not sent. */
export type ReplacedFor = "length" | "link" | "hourly";

const subjectCharactersMax = 100;
const bodyCharactersMax = 2_000;

/** The placeholders of codes in a text. */
export const codePlaceholders = { resetCode: "@ResetCode" } as const;
/** The placeholder of the sentences of a notice. */
export const noticePlaceholder = "@Notice";

/** The reason why a client's text could be abused to write to strangers, if it could (spec/mail#mail-texts). */
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

/**
 * The application's own text, or the default.
 * @param written an operator's text in its place
 */
export function ownText(
  kind: MailTextKind,
  filling: { readonly placeholder: string; readonly value: string },
  { texts = {} }: MailSettings,
  name: string,
  written: Partial<GivenMailText> = {},
): MailText {
  const own = texts[kind] ?? defaultTexts[kind](line(name));
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

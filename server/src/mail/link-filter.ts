import { isIPv6 } from "node:net";

/** Characters that mail programs do not show. */
const invisible = /[\p{Default_Ignorable_Code_Point}\p{Cf}]|(?!\s)\p{Cc}/gu;
/** Full stops between the labels of a host name (UTS #46) that NFKC leaves unchanged. */
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
 * True when a text holds a link, or an address that mail programs turn into one, whose host is neither one of
 * `linkHosts` nor below one of them. Checks the text as its recipient sees it: in NFKC and without invisible
 * characters.
 *
 * @param placeholders the placeholders of codes
 */
export function holdsForeignLink(text: string, placeholders: readonly string[], linkHosts: readonly string[]): boolean {
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

import { domainToASCII } from "node:url";

/**
 * Whether the string is a single address, without a list, display name, comment, or characters that would break a
 * header line.
 */
export function isPlainAddress(text: string): boolean {
  return text.length <= addressCharactersMax && addressPattern.test(text);
}

/** White space, control characters, and other invisible characters. */
const invisibleEnds = /^[\s\p{Cc}\p{Cf}\p{DI}\u2800]+|[\s\p{Cc}\p{Cf}\p{DI}\u2800]+$/gu;

/** Removes blanks around an address, which keyboards add, and invisible characters, which copied text contains. */
export function trimAddress(text: string): string {
  return text.replaceAll(invisibleEnds, "");
}

/**
 * Returns the unique form of a verified address: the domain in ASCII and lower case, the local part in NFC with only A
 * to Z lowered, because a mail server may treat other letters as different.
 *
 * @returns undefined for anything but one plain address whose domain converts to ASCII
 */
export function addressKey(address: string): string | undefined {
  const trimmed = trimAddress(address);
  if (!isPlainAddress(trimmed)) return undefined;
  const at = trimmed.lastIndexOf("@");
  const name = trimmed.slice(at + 1);
  // `domainToASCII` reads a URL: it would cut the name at other characters, so that two addresses had one key.
  const domain = domainPattern.test(name) ? domainToASCII(name) : "";
  if (domain === "" || domain.endsWith(".")) return undefined;
  const local = trimmed.slice(0, at).normalize("NFC");
  return `${local.replaceAll(/[A-Z]/g, (letter) => letter.toLowerCase())}@${domain.toLowerCase()}`;
}

/** Letters, digits and hyphens between full stops, also the ideographic ones. */
const domainPattern = /^[\p{L}\p{M}\p{N}\p{Cf}_.。．｡-]+$/u;

const addressCharactersMax = 320;
const addressPattern = /^[^\s\p{Cc}\p{Cf},;:<>()[\]"\\@]+@[^\s\p{Cc}\p{Cf},;:<>()[\]"\\@]+$/u;

/** Masks the local part of an address: `j…@example.org`. Of a string without `@`, only the first character remains. */
export function maskEmail(address: string): string {
  const [first = ""] = address;
  const at = address.lastIndexOf("@");
  return at < 0 ? `${first}…` : `${at === 0 ? "" : first}…${address.slice(at)}`;
}

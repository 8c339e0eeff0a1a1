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

const addressCharactersMax = 320;
const addressPattern = /^[^\s\p{Cc}\p{Cf},;:<>()[\]"\\@]+@[^\s\p{Cc}\p{Cf},;:<>()[\]"\\@]+$/u;

/** Masks the local part of an address: `j…@example.org`. Of a string without `@`, only the first character remains. */
export function maskEmail(address: string): string {
  const [first = ""] = address;
  const at = address.lastIndexOf("@");
  return at < 0 ? `${first}…` : `${at === 0 ? "" : first}…${address.slice(at)}`;
}

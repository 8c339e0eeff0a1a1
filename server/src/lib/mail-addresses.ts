/** True for a single address: no list, display name, comment or anything that would end a header line. */
export function isPlainAddress(text: string): boolean {
  return text.length <= addressCharactersMax && addressPattern.test(text);
}

/** White space, control characters, and all others that show nothing. */
const invisibleEnds = /^[\s\p{Cc}\p{Cf}\p{DI}\u2800]+|[\s\p{Cc}\p{Cf}\p{DI}\u2800]+$/gu;

/** The address without blanks around it, which keyboards add, and without invisible characters, which come with copied text. */
export function trimAddress(text: string): string {
  return text.replaceAll(invisibleEnds, "");
}

const addressCharactersMax = 320;
const addressPattern = /^[^\s\p{Cc}\p{Cf},;:<>()[\]"\\@]+@[^\s\p{Cc}\p{Cf},;:<>()[\]"\\@]+$/u;

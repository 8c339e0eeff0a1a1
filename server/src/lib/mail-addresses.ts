/** True for a single address: no list, display name, comment or anything that would end a header line. */
export function isPlainAddress(text: string): boolean {
  return text.length <= addressCharactersMax && addressPattern.test(text);
}

const addressCharactersMax = 320;
const addressPattern = /^[^\s\p{Cc}\p{Cf},;:<>()[\]"\\@]+@[^\s\p{Cc}\p{Cf},;:<>()[\]"\\@]+$/u;

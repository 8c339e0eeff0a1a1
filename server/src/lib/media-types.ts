/** Returns a media type without its parameters. */
export function essenceOf(mediaType: string): string {
  return mediaType.split(";", 1)[0]?.trim() ?? "";
}

const essencePattern = /^[a-z0-9][a-z0-9!#$&^_.+-]{0,126}\/[a-z0-9][a-z0-9!#$&^_.+-]{0,126}$/;
const charsetPattern = /;\s*charset\s*=\s*(?:"([\w.:+-]{1,40})"|([\w.:+-]{1,40})\s*(?:;|$))/;

/**
 * Normalizes a claimed media type: in lower case, without parameters except for `charset`. Returns undefined for a
 * string that is not a media type.
 */
export function readMediaType(claimed: string): string | undefined {
  const text = claimed.trim().toLowerCase();
  const essence = essenceOf(text);
  if (!essencePattern.test(essence)) return undefined;
  const [, quoted, plain = quoted] = charsetPattern.exec(text) ?? [];
  return plain === undefined ? essence : `${essence}; charset=${plain}`;
}

/**
 * Parses the token of an Authorization header: `<scheme> <token>`, optionally followed by a signature. The scheme
 * matches in any case.
 *
 * @param schemes in lower case
 * @returns undefined for a missing or malformed header
 */
export function readToken(header: string | undefined, schemes: ReadonlySet<string>): string | undefined {
  const [scheme, token, , more] = splitHeader(header);
  if (scheme === undefined || more !== undefined || !schemes.has(scheme.toLowerCase())) return undefined;
  return token;
}

function splitHeader(header = ""): readonly string[] {
  const space = header.indexOf(" ");
  const isUsual = space > 0 && space < header.length - 1 && !header.includes(" ", space + 1);
  return isUsual ? [header.slice(0, space), header.slice(space + 1)] : header.trim().split(/ +/, 4);
}

/**
 * Parses the token of an Authorization header: `<scheme> <token>`, optionally followed by a signature. The scheme
 * matches in any case.
 *
 * @param schemes in lower case
 * @returns undefined for a missing or malformed header
 */
export function readToken(header: string | undefined, schemes: ReadonlySet<string>): string | undefined {
  const [scheme, token, , more] = header?.trim().split(/ +/, 4) ?? [];
  if (scheme === undefined || more !== undefined || !schemes.has(scheme.toLowerCase())) return undefined;
  return token;
}

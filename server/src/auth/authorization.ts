/**
 * The token of an Authorization header: `<scheme> <token>`, and perhaps a signature behind it; the scheme in any case.
 *
 * @param schemes in lower case
 * @returns undefined when the header is none, or not of that form
 */
export function readToken(header: string | undefined, schemes: ReadonlySet<string>): string | undefined {
  const [scheme, token, , more] = header?.trim().split(/ +/, 4) ?? [];
  if (scheme === undefined || more !== undefined || !schemes.has(scheme.toLowerCase())) return undefined;
  return token;
}

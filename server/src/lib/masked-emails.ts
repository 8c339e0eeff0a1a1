/** An address without most of what is before its `@`: `j…@example.org`. A text without one shows nothing but its beginning. */
export function maskEmail(address: string): string {
  const [first = ""] = address;
  const at = address.lastIndexOf("@");
  return at < 0 ? `${first}…` : `${at === 0 ? "" : first}…${address.slice(at)}`;
}

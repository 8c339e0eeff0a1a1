/** Masks the local part of an address: `j…@example.org`. Of a string without `@`, only the first character remains. */
export function maskEmail(address: string): string {
  const [first = ""] = address;
  const at = address.lastIndexOf("@");
  return at < 0 ? `${first}…` : `${at === 0 ? "" : first}…${address.slice(at)}`;
}

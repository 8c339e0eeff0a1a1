/** An array in the text format of PostgreSQL. */
export function arrayLiteral(values: readonly unknown[]): string {
  return `{${values.map(itemLiteral).join()}}`;
}

function itemLiteral(value: unknown): string {
  if (value === null || value === undefined) return "null";
  if (typeof value === "number") return String(value);
  const text = String(value);
  return `"${needsEscape.test(text) ? text.replaceAll(/["\\]/g, "\\$&") : text}"`;
}

const needsEscape = /["\\]/;

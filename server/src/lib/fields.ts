/** The fields of a value of unknown type, such as a caught error: libraries add their own. */
interface Fields {
  readonly code?: unknown;
  readonly [name: string]: unknown;
}

/** Returns the value for reading its fields. No value is refused; null and undefined have no fields. */
export function fieldsOf(value: unknown): Fields {
  return Object(value);
}

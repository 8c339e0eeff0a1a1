/** The fields of a value of unknown type, such as a caught error, to which libraries add fields. */
interface Fields {
  readonly code?: unknown;
  readonly [name: string]: unknown;
}

/** Returns any value in a form that has readable fields; null and undefined have no fields. */
export function fieldsOf(value: unknown): Fields {
  return Object(value);
}

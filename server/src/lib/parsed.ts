/**
 * The result of parsing an input: a value, or a problem. "format" means that the input does not parse, "range" that its
 * value is not allowed. The rule completes the sentence "<parameter> …".
 */
export type Parsed<T> = { value: T } | Refused;

/** A refused input; the message, if present, replaces the complete sentence. */
export type Refused = { problem: "format" | "range"; rule: string; message?: string };

/** The input does not parse. */
export function refuseFormat(rule: string): Refused {
  return { problem: "format", rule };
}

/** The input parses, but its value is not allowed. */
export function refuseRange(rule: string): Refused {
  return { problem: "range", rule };
}

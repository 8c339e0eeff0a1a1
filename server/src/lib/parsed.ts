/**
 * What a codec makes of an input: the value, or why there is none. "format" is an input that does not parse, "range"
 * one that parses to something not allowed. The rule completes the sentence "<parameter> …".
 */
export type Parsed<T> = { value: T } | Refused;

/** An input that gave no value; a message, where there is one, stands in place of the whole sentence. */
export type Refused = { problem: "format" | "range"; rule: string; message?: string };

/** The input does not parse. */
export function refuseFormat(rule: string): Refused {
  return { problem: "format", rule };
}

/** The input parses, but to something outside what is allowed. */
export function refuseRange(rule: string): Refused {
  return { problem: "range", rule };
}

const longNumber = /\d{16}/;
/** What a text parameter may be at the longest; reading an integer costs the square of its digits. */
const longInteger = /^-?\d{1,5000}$/;

/**
 * Reads JSON; an integer that is too long for a number is a BigInt, because where a text is due its digits are the text.
 *
 * @throws SyntaxError; RangeError when it is nested too deep
 */
export function parseExactJson(text: string): unknown {
  // A double holds some 15 digits; a reviver is slow, so only where a longer number stands.
  return longNumber.test(text) ? JSON.parse(text, keepLongIntegers) : JSON.parse(text);
}

function keepLongIntegers(_name: string, value: unknown, context?: { source?: string }): unknown {
  if (typeof value !== "number" || Number.isSafeInteger(value)) return value;
  const source = context?.source ?? "";
  return longInteger.test(source) ? BigInt(source) : value;
}

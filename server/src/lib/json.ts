import { type Parsed, refuseRange } from "./parsed.ts";

/**
 * Reads a JSON text. An integer that a double cannot hold comes as a bigint, with all its digits.
 *
 * @throws SyntaxError; RangeError when it has such an integer and is nested some thousands of levels deep
 */
export function parseJson(text: string): unknown {
  // A double holds some 15 digits; a reviver is slow, so only where a longer number stands.
  return longNumber.test(text) ? JSON.parse(text, keepLongIntegers) : JSON.parse(text);
}

const longNumber = /(?<![\d.])\d{16}/; // not the decimals of a fraction, which stays a double
/** What a text parameter may be at the longest; reading an integer costs the square of its digits. */
const longInteger = /^-?\d{1,5000}$/;

function keepLongIntegers(_name: string, value: unknown, context?: { source?: string }): unknown {
  if (typeof value !== "number" || Number.isSafeInteger(value)) return value;
  const source = context?.source ?? "";
  return longInteger.test(source) ? BigInt(source) : value;
}

/**
 * Writes what {@link parseJson} has read, at any depth: `JSON.stringify` knows no bigint, writes null for a number that
 * was too large, and goes as deep as the stack allows. Members that are undefined are left out. A number outside the range
 * of a double is a "range" problem.
 */
export function writeJson(value: unknown): Parsed<string> {
  let text = "";
  const waiting: unknown[] = [value];
  while (waiting.length > 0) {
    const next = waiting.pop();
    if (next instanceof Written) text += next.text;
    else if (Array.isArray(next)) {
      text += "[";
      waiting.push(closingArray);
      for (let index = next.length - 1; index >= 0; index -= 1) {
        waiting.push(next[index]);
        if (index > 0) waiting.push(comma);
      }
    } else if (typeof next === "object" && next !== null) {
      text += "{";
      waiting.push(closingObject);
      const members = Object.entries(next).filter(([, member]) => member !== undefined);
      for (let index = members.length - 1; index >= 0; index -= 1) {
        const [name, member] = members[index] as [string, unknown]; // index is below the length
        waiting.push(member, new Written(`${index > 0 ? "," : ""}${JSON.stringify(name)}:`));
      }
    } else if (typeof next === "bigint" || typeof next === "number") {
      if (!Number.isFinite(Number(next))) return refuseRange("must not hold a number beyond 1.8e308");
      text += String(next); // as JSON has it: -0 is 0
    } else text += JSON.stringify(next);
  }
  return { value: text };
}

/** A part of the text, among the values that are to be written. */
class Written {
  readonly text: string;
  constructor(text: string) {
    this.text = text;
  }
}

const comma = new Written(",");
const closingArray = new Written("]");
const closingObject = new Written("}");

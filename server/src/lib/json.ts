import { type Parsed, refuseRange } from "./parsed.ts";

/**
 * Parses JSON. An integer that a double cannot represent becomes a bigint.
 *
 * @throws SyntaxError; RangeError for such an integer in JSON that is nested thousands of levels deep
 */
export function parseJson(text: string): unknown {
  // A reviver is slow, so it is used only if a number has more than the 15 digits of a double.
  return longNumber.test(text) ? JSON.parse(text, reviveLongIntegers) : JSON.parse(text);
}

const longNumber = /(?<![\d.])\d{16}/; // not digits after a point, because fractions stay doubles
/** Up to the maximum length of a parameter, because parsing an integer takes quadratic time. */
const longInteger = /^-?\d{1,5000}$/;

function reviveLongIntegers(_name: string, value: unknown, context?: { source?: string }): unknown {
  if (typeof value !== "number" || Number.isSafeInteger(value)) return value;
  const source = context?.source ?? "";
  return longInteger.test(source) ? BigInt(source) : value;
}

/**
 * Writes the values of {@link parseJson} at any depth. `JSON.stringify` does not support bigint, writes null for
 * Infinity, and overflows the stack. Undefined members are omitted. A number outside of the range of a double is a
 * "range" problem.
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
      text += String(next); // like JSON.stringify, writes -0 as 0
    } else text += JSON.stringify(next);
  }
  return { value: text };
}

/** A literal part of the output, on the stack of values to write. */
class Written {
  readonly text: string;
  constructor(text: string) {
    this.text = text;
  }
}

const comma = new Written(",");
const closingArray = new Written("]");
const closingObject = new Written("}");

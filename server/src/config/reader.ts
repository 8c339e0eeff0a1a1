/** Parses the trimmed text of a setting. @throws BrokenRule */
export type Reader<Value> = (given: string) => Value;

/**
 * The text of a setting is invalid. The message is the rule and follows the setting's name: "must be …". It never
 * contains the value, which may be a secret.
 */
export class BrokenRule extends Error {}

export const text: Reader<string> = (given) => given;

/** Reads an empty text as undefined. */
export function optional<Value>(read: Reader<Value>): Reader<Value | undefined> {
  return (given) => (given === "" ? undefined : read(given));
}

/** Accepts only values that satisfy the rule. */
export function checked<Value>(read: Reader<Value>, isRight: (value: Value) => boolean, rule: string): Reader<Value> {
  return (given) => {
    const value = read(given);
    if (!isRight(value)) throw new BrokenRule(rule);
    return value;
  };
}

export function integer(minimum: number, maximum: number): Reader<number> {
  return (given) => {
    const value = Number(given);
    if (/^\d+$/.test(given) && value >= minimum && value <= maximum) return value;
    throw new BrokenRule(`must be an integer from ${minimum} to ${maximum}`);
  };
}

export const share: Reader<number> = (given) => {
  if (/^(?:0|1|0?\.\d+|1\.0+|0\.\d+)$/.test(given)) return Number(given);
  throw new BrokenRule("must be a number from 0 to 1");
};

/** One of the given words, in upper or lower case. */
export function oneOf<Word extends string>(...words: readonly Word[]): Reader<Word> {
  const rule = words.length === 2 ? words.join(" or ") : `one of ${words.join(", ")}`;
  return (given) => {
    const word = words.find((each) => each === given.toLowerCase());
    if (word === undefined) throw new BrokenRule(`must be ${rule}`);
    return word;
  };
}

export const truth: Reader<boolean> = (given) => oneOf("true", "false")(given) === "true";

/** Comma-separated texts. */
export const list: Reader<readonly string[]> = (given) =>
  given
    .split(",")
    .map((word) => word.trim())
    .filter((word) => word !== "");

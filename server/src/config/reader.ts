import { parseSender } from "./mail-sender.ts";

/** Parses the trimmed value of a setting. @throws BrokenRule */
export type Reader<Value> = (given: string) => Value;

/** An environment variable. `.env.example` and the docs are generated from these rows. */
export interface Setting<Value> {
  readonly name: string;
  /** The default, as in the environment; empty for no default. */
  readonly default: string;
  readonly about: string;
  readonly read: Reader<Value>;
  /** The value is never shown. */
  readonly isSecret?: true;
}

/**
 * The value of a setting is invalid. The message is the text after the setting's name: "must be …". It never contains
 * the value, which may be a secret.
 */
export class BrokenRule extends Error {}

export const text: Reader<string> = (given) => given;

/** Reads an empty string as undefined. */
export function optional<Value>(read: Reader<Value>): Reader<Value | undefined> {
  return (given) => (given === "" ? undefined : read(given));
}

/** Refuses values for which `isRight` is false. */
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

/** A number of milliseconds, up to ten years. */
export const lifetime = integer(1_000, 315_360_000_000);

export const share: Reader<number> = (given) => {
  if (/^(?:0|1|0?\.\d+|1\.0+|0\.\d+)$/.test(given)) return Number(given);
  throw new BrokenRule("must be a number from 0 to 1");
};

/** Reads one of the given words, in upper or lower case. */
export function oneOf<Word extends string>(...words: readonly Word[]): Reader<Word> {
  const rule = words.length === 2 ? words.join(" or ") : `one of ${words.join(", ")}`;
  return (given) => {
    const word = words.find((each) => each === given.toLowerCase());
    if (word === undefined) throw new BrokenRule(`must be ${rule}`);
    return word;
  };
}

export const truth: Reader<boolean> = (given) => oneOf("true", "false")(given) === "true";

/** Reads comma-separated strings. */
export const list: Reader<readonly string[]> = (given) =>
  given
    .split(",")
    .map((word) => word.trim())
    .filter((word) => word !== "");

/** Reads the accepted schemes of the Authorization header, in lower case. */
export const authSchemes = checked(
  (given: string) => list(given).map((word) => word.toLowerCase()),
  (words) => words.length > 0 && words.every((word) => /^[a-z0-9-]+$/.test(word)),
  "must be words of letters, digits and -, separated by commas",
);

export const sender: Reader<{ readonly name: string; readonly address: string }> = (given) => {
  const parsed = parseSender(given);
  if (parsed === undefined) throw new BrokenRule("must be an address, or a name and an address in angle brackets");
  return parsed;
};

/** Reads comma-separated `name=value` pairs with percent-encoded values. */
export const headers: Reader<Readonly<Record<string, string>>> = (given) => {
  const pairs = given.split(",").filter((each) => each.trim() !== "");
  return Object.fromEntries(pairs.map(parseHeader));
};

function parseHeader(pair: string): readonly [name: string, value: string] {
  const [, name, value] = /^\s*([!#$%&'*+.^_`|~\w-]+)\s*=\s*((?:[!-$&-~]|%[2-7][0-9a-f])*)\s*$/i.exec(pair) ?? [];
  if (name === undefined || value === undefined) throw new BrokenRule("must be name=value, separated by commas");
  return [name, value.replaceAll(/%(..)/g, (_, code) => String.fromCharCode(Number.parseInt(code, 16)))];
}

export const secretCharactersMin = 16;
export const secretRule = `must have at least ${secretCharactersMin} characters (openssl rand -hex 32 makes a good one)`;

/** Reads comma-separated secrets, newest first. */
export const secrets = checked(list, (words) => words.every((word) => word.length >= secretCharactersMin), secretRule);

export const metricsToken = checked(
  text,
  (given) => /^[\x21-\x7e]{16,}$/.test(given),
  `must have at least ${secretCharactersMin} characters, and no spaces (openssl rand -hex 32 makes a good one)`,
);

import { type IdKind, kinds } from "./kinds.ts";
import { takeRandomBytes } from "./random.ts";

const timeDigits = 9; // milliseconds in base 36, sufficient until the year 5188
const countDigits = 4;
const randomDigits = 13; // 67 bits
const bodyDigits = timeDigits + countDigits + randomDigits;
const countMax = 36 ** countDigits - 1;
const digits = "0123456789abcdefghijklmnopqrstuvwxyz";

const kindsByPrefix = new Map<string, IdKind>(
  Object.entries(kinds).map(([kind, { prefix }]) => [prefix, kind as IdKind]), // Object.entries returns strings as keys
);
const idPattern = new RegExp(`^([a-z]{3})_[0-9a-z]{${bodyDigits}}$`);

/** Creates ids: opaque strings such as `chk_0mh9x3k2v0000…`, which contain their kind and sort by creation. */
export interface IdGenerator {
  newId(kind: IdKind): string;
}

/**
 * Creates a generator whose ids are strictly increasing, even within a millisecond and when the clock stands still or
 * steps back (spec/transport#ids, hostile.md 35). Ids of different processes differ by their random part.
 */
export function createIdGenerator(now: () => number): IdGenerator {
  let time = 0;
  let count = 0;
  let head = "";
  return {
    newId(kind) {
      const wall = now();
      if (wall > time) {
        time = wall;
        count = 0;
        head = time.toString(36).padStart(timeDigits, "0");
      } else if (count === countMax) {
        time += 1;
        count = 0;
        head = time.toString(36).padStart(timeDigits, "0");
      } else {
        count += 1;
      }
      return `${kinds[kind].prefix}_${head}${count.toString(36).padStart(countDigits, "0")}${randomText()}`;
    },
  };
}

/** Returns the smallest id of this time: older ids sort before it, newer ids after it. */
export function firstIdAt(kind: IdKind, at: number): string {
  return `${kinds[kind].prefix}_${Math.max(0, at).toString(36).padStart(timeDigits, "0")}`;
}

/**
 * Returns a check whether an id of this kind was created less than `ageMs` ago, to the second. The clocks of processes
 * may differ: an id from more than `ageMs` in the future counts as old, so that no id counts as new for more than twice
 * `ageMs`.
 *
 * The bounds are computed once per second, so that a check costs two string comparisons.
 */
export function createAgeCheck(kind: IdKind, ageMs: number): (id: string, now: number) => boolean {
  let second = Number.NaN;
  let [oldest, newest] = ["", ""];
  return (id, now) => {
    const current = Math.floor(now / 1_000);
    if (current !== second) {
      second = current;
      oldest = firstIdAt(kind, current * 1_000 - ageMs + 1_000);
      newest = firstIdAt(kind, current * 1_000 + ageMs);
    }
    return id >= oldest && id < newest;
  };
}

/** Returns the kind of an id, or undefined if the string is not an id. */
export function kindOfId(text: string): IdKind | undefined {
  const prefix = idPattern.exec(text)?.[1];
  return prefix === undefined ? undefined : kindsByPrefix.get(prefix);
}

/**
 * Returns the first part of the path to the object of an id.
 * @throws Error for an id of a kind without a path
 */
export function collectionOf(id: string): string {
  const kind = kindOfId(id);
  const collection = kind && kinds[kind].collection;
  if (collection === undefined) throw new Error(`${id} has no path`);
  return collection;
}

/** Describes the form of these ids, for error messages. */
export function describeIds(kind: IdKind): string {
  return `${kinds[kind].prefix}_ and ${bodyDigits} of the characters 0-9 and a-z`;
}

/** Returns the source of a regular expression for these ids, for the published schemas. */
export function idPatternOf(kind: IdKind): string {
  return `^${kinds[kind].prefix}_[0-9a-z]{${bodyDigits}}$`;
}

function randomText(): string {
  let text = "";
  while (text.length < randomDigits) {
    for (const byte of takeRandomBytes(randomDigits - text.length)) {
      if (byte < 252) text += digits[byte % 36]; // 252 = 7 × 36, so that all digits are equally likely
    }
  }
  return text;
}

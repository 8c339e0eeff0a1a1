import { takeRandomBytes } from "./random.ts";

/** What an id can name, with the prefix that carries the kind inside the id. */
const prefixes = {
  App: "app",
  ApplicationKey: "apk",
  Device: "dev",
  User: "usr",
  Checkin: "chk",
  Token: "tok",
  CrashReport: "crs",
  Place: "plc",
  MetricEvent: "met",
  Operator: "opr",
  AuditEntry: "aud",
  Picture: "pic",
  Video: "vid",
  Blob: "blb",
} as const;

export type IdKind = keyof typeof prefixes;

const timeDigits = 9; // base 36 milliseconds: good until the year 5188
const countDigits = 4;
const randomDigits = 13; // 67 bits
const bodyDigits = timeDigits + countDigits + randomDigits;
const countMax = 36 ** countDigits - 1;
const digits = "0123456789abcdefghijklmnopqrstuvwxyz";

const kindsByPrefix = new Map<string, IdKind>(
  Object.entries(prefixes).map(([kind, prefix]) => [prefix, kind as IdKind]), // Object.entries forgets the key type
);
const idPattern = new RegExp(`^([a-z]{3})_[0-9a-z]{${bodyDigits}}$`);

/** Makes ids: opaque texts such as `chk_0mh9x3k2v0000…` that carry their kind and sort by creation. */
export interface IdGenerator {
  newId(kind: IdKind): string;
}

/**
 * Ids of one generator are strictly increasing, also within a millisecond and when the clock stands still or steps
 * back (surface.md section 1, hostile.md 35). Ids of different processes differ by their random part.
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
      return `${prefixes[kind]}_${head}${count.toString(36).padStart(countDigits, "0")}${randomText()}`;
    },
  };
}

/** Ids that were made before this time sort before it, the others behind it. */
export function firstIdAt(kind: IdKind, at: number): string {
  return `${prefixes[kind]}_${Math.max(0, at).toString(36).padStart(timeDigits, "0")}`;
}

/** The kind that an id carries, or undefined when the text is no id at all. */
export function kindOfId(text: string): IdKind | undefined {
  const prefix = idPattern.exec(text)?.[1];
  return prefix === undefined ? undefined : kindsByPrefix.get(prefix);
}

/** A regular expression source that ids of this kind match: for the published schemas. */
export function idPatternOf(kind: IdKind): string {
  return `^${prefixes[kind]}_[0-9a-z]{${bodyDigits}}$`;
}

function randomText(): string {
  let text = "";
  while (text.length < randomDigits) {
    for (const byte of takeRandomBytes(randomDigits - text.length)) {
      if (byte < 252) text += digits[byte % 36]; // 252 = 7 × 36: no digit is likelier than another
    }
  }
  return text;
}

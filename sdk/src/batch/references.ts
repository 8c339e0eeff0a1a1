import { hexOf, randomBytes } from "../lib/hex.ts";

/** A placeholder for a member of a result, usable wherever a string is. */
export type Refs<T> = { readonly [Member in keyof T]-?: string };

/** The items of one request, and the results of earlier ones. */
export interface Results {
  /** Whether an item is in the same request, where the service itself replaces references to it. */
  isPending(index: number): boolean;
  /** A member of an earlier result. */
  read(index: number, member: string): unknown;
}

/** The references of one batch. */
export interface References {
  refsOf<T>(index: number): Refs<T>;
  /** Lists the items that the strings in a value refer to. */
  find(value: unknown): readonly number[];
  /** Replaces all references in the strings of a value. With `escapes`, escapes all other braces. */
  replace(value: unknown, results: Results, escapes: boolean): unknown;
  /** Replaces all references in a path, with percent-encoded values. */
  replaceInPath(path: string, results: Results): string;
}

/** A reference is a string of letters and digits that an app cannot write by accident. */
export function createReferences(): References {
  const nonce = hexOf(randomBytes());
  const anywhere = new RegExp(`r${nonce}n(\\d+)n`, "g");
  const targets: { readonly index: number; readonly member: string }[] = [];

  const targetOf = (id: string | undefined) => targets[Number(id)] ?? { index: -1, member: "" };

  function replaceIn(text: string, { isPending, read }: Results, write: (value: string) => string): string {
    return text.replace(anywhere, (_, id: string) => {
      const { index, member } = targetOf(id);
      return isPending(index) ? `{{${index}.result.${member}}}` : write(`${read(index, member)}`);
    });
  }

  return {
    refsOf<T>(index: number) {
      const get = (_: object, member: string | symbol) =>
        typeof member === "string" ? `r${nonce}n${targets.push({ index, member }) - 1}n` : undefined;
      // The members are those of the result, which only the type declares.
      return new Proxy({}, { get }) as Refs<T>;
    },
    find: (value) => Array.from(JSON.stringify(value).matchAll(anywhere), ([, id]) => targetOf(id).index),
    replace(value, results, escapes) {
      const mark = (text: string) => (escapes ? text.replaceAll("{{", "\\{{") : text);
      return JSON.parse(JSON.stringify(value), (_, text) => {
        if (typeof text !== "string") return text;
        const [first] = text.matchAll(anywhere);
        const { index, member } = targetOf(first?.[1]);
        // A string that is only one reference is replaced by the value itself, with its type.
        const known = first?.[0] === text && !results.isPending(index) ? results.read(index, member) : text;
        return typeof known === "string" ? replaceIn(mark(text), results, mark) : known;
      });
    },
    replaceInPath: (path, results) => replaceIn(path, results, encodeURIComponent),
  };
}

import { hexOf, randomBytes } from "../lib/hex.ts";

/** Stands for a member of a later result, wherever a text may stand. */
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
  /** The items whose results the texts of a value refer to. */
  find(value: unknown): readonly number[];
  /** Replaces all references in the texts of a value. With `escapes`, other braces are marked as the app's own. */
  replace(value: unknown, results: Results, escapes: boolean): unknown;
  /** The same in a path, where values are escaped. */
  replaceInPath(path: string, results: Results): string;
}

/** A reference is a text of letters and digits that no app writes by chance. */
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
        // A text that consists of one reference takes the value with its type.
        const known = first?.[0] === text && !results.isPending(index) ? results.read(index, member) : text;
        return typeof known === "string" ? replaceIn(mark(text), results, mark) : known;
      });
    },
    replaceInPath: (path, results) => replaceIn(path, results, encodeURIComponent),
  };
}

/** Stands for a member of a result that is not there yet, wherever a text may stand. */
export type Refs<T> = { readonly [Member in keyof T]-?: string };

/** Where a reference leads. */
export interface Target {
  readonly index: number;
  readonly member: string;
}

/** What replaces a reference in a request: a reference of the wire, or a value that is known by now. */
export type Replacement = { readonly reference: string } | { readonly value: unknown };

/** The references of one batch. */
export interface References {
  refsOf<T>(index: number): Refs<T>;
  /** Where the references in a value lead. */
  find(value: unknown): readonly Target[];
  /** Replaces all references in the texts of a value. With `escapes`, other braces are marked as the app's own. */
  replace(value: unknown, replacementOf: (target: Target) => Replacement, escapes: boolean): unknown;
  /** The same in a path, where values are escaped. */
  replaceInPath(path: string, replacementOf: (target: Target) => Replacement): string;
}

/** A reference is a text of letters and digits that no app writes by chance. */
export function createReferences(): References {
  const nonce = Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) =>
    byte.toString(16).padStart(2, "0"),
  ).join("");
  const pattern = new RegExp(`r${nonce}n(\\d+)n`, "g");
  const targets: Target[] = [];

  function mapTexts(value: unknown, change: (text: string) => unknown): unknown {
    if (typeof value === "string") return change(value);
    if (Array.isArray(value)) return value.map((item) => mapTexts(item, change));
    if (typeof value !== "object" || value === null || value instanceof Date) return value;
    return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, mapTexts(member, change)]));
  }

  const targetOf = (id: string | undefined): Target => targets[Number(id)] ?? { index: -1, member: "" };

  return {
    refsOf<T>(index: number) {
      const get = (_: object, member: string | symbol) => {
        if (typeof member !== "string") return undefined;
        targets.push({ index, member });
        return `r${nonce}n${targets.length - 1}n`;
      };
      // The members are those of the result, which only the type knows.
      return new Proxy({}, { get }) as Refs<T>;
    },
    find(value) {
      const found: Target[] = [];
      mapTexts(value, (text) => {
        for (const [, id] of text.matchAll(pattern)) found.push(targetOf(id));
        return text;
      });
      return found;
    },
    replace(value, replacementOf, escapes) {
      const marked = (text: unknown) => (escapes ? `${text}`.replaceAll("{{", "\\{{") : `${text}`);
      return mapTexts(value, (text) => {
        const [whole, id] = pattern.exec(text) ?? [];
        pattern.lastIndex = 0;
        if (whole === text) {
          // A text that is nothing but a reference takes the value with its type.
          const replacement = replacementOf(targetOf(id));
          if ("reference" in replacement) return replacement.reference;
          return typeof replacement.value === "string" ? marked(replacement.value) : replacement.value;
        }
        return marked(text).replace(pattern, (_, id: string) => {
          const replacement = replacementOf(targetOf(id));
          return "reference" in replacement ? replacement.reference : marked(replacement.value);
        });
      });
    },
    replaceInPath(path, replacementOf) {
      return path.replace(pattern, (_, id: string) => {
        const replacement = replacementOf(targetOf(id));
        return "reference" in replacement ? replacement.reference : encodeURIComponent(`${replacement.value}`);
      });
    },
  };
}

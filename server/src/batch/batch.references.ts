import { ApiError } from "../lib/errors.ts";
import type { BatchItem } from "./batch.items.ts";

/** The results of earlier items by key, which references can name. */
export interface EarlierItems {
  /** Undefined when no item has this key, or the item failed. */
  find(key: string): unknown;
}

/**
 * Resolves the references of an item (spec/batch#references): `{{key.result.id}}` in its path or in any text of its
 * parameters. A text that consists of one reference takes the value with its type; a literal `{{` is written `\{{`.
 *
 * @param bytesMax limits the inserted bytes, because a few references to a long text could fill the memory
 * @throws ApiError BatchItemNotRun when a reference is malformed or does not resolve, RequestTooLarge
 */
export function resolveReferences(item: BatchItem, earlier: EarlierItems, bytesMax: number): BatchItem {
  const find = boundedBy(bytesMax, earlier);
  const path = replaceMarks(item.path, (reference) => {
    const text = scalarText(reference, find);
    // Metadata may hold a lone surrogate, which no path can contain.
    if (!text.isWellFormed()) throw unresolved(reference);
    return encodeURIComponent(text);
  });
  try {
    const parameters = [...item.parameters].map(([name, value]) => [name, resolveValue(value, find)] as const);
    return { ...item, path, parameters };
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    throw new ApiError("BatchItemNotRun", "The parameters are nested too deep for references.", { cause: error });
  }
}

/** The value that a reference denotes. @throws ApiError BatchItemNotRun, RequestTooLarge */
type LookUp = (reference: string) => unknown;

function boundedBy(bytesMax: number, earlier: EarlierItems): LookUp {
  let length = 0;
  return (reference) => {
    const value = lookUp(reference, earlier);
    length += typeof value === "object" ? JSON.stringify(value).length : String(value).length;
    if (length <= bytesMax) return value;
    throw new ApiError("RequestTooLarge", `The resolved references are larger than ${bytesMax} bytes.`);
  };
}

function resolveValue(value: unknown, find: LookUp): unknown {
  if (typeof value === "string") return resolveText(value, find);
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return value.map((each) => resolveValue(each, find));
  // fromEntries also creates members with names like __proto__.
  return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, resolveValue(each, find)]));
}

function resolveText(text: string, find: LookUp): unknown {
  const isWhole = text.startsWith("{{") && text.indexOf("}}", 2) === text.length - 2;
  if (isWhole && !text.includes("{{", 2)) return find(text.slice(2, -2));
  return replaceMarks(text, (reference) => scalarText(reference, find));
}

/** Works in one pass, because a text may consist of braces. */
function replaceMarks(text: string, replace: (reference: string) => string): string {
  const parts: string[] = [];
  let from = 0;
  for (let at = text.indexOf("{{"); at !== -1; at = text.indexOf("{{", from)) {
    if (at > from && text[at - 1] === "\\") {
      parts.push(text.slice(from, at - 1), "{{");
      from = at + 2;
      continue;
    }
    const end = text.indexOf("}}", at + 2);
    if (end === -1) throw new ApiError("BatchItemNotRun", "A reference has no end.");
    parts.push(text.slice(from, at), replace(text.slice(at + 2, end)));
    from = end + 2;
  }
  return parts.length === 0 ? text : parts.join("") + text.slice(from);
}

/** Only texts, numbers and booleans can be inserted into a longer text. */
function scalarText(reference: string, find: LookUp): string {
  const value = find(reference);
  if (typeof value === "object") throw unresolved(reference);
  return String(value);
}

/** A key may contain dots too: the longest existing key wins. */
function lookUp(reference: string, earlier: EarlierItems): unknown {
  if (reference.length > referenceCharactersMax) throw unresolved(reference);
  const names = reference.trim().split(".");
  for (let length = names.length - 1; length >= 1; length -= 1) {
    const envelope = earlier.find(names.slice(0, length).join("."));
    if (envelope === undefined) continue;
    let value: unknown = envelope;
    for (const name of names.slice(length)) {
      if (typeof value !== "object" || value === null || !Object.hasOwn(value, name)) throw unresolved(reference);
      value = (value as Record<string, unknown>)[name]; // checked above
    }
    return value;
  }
  throw unresolved(reference);
}

const referenceCharactersMax = 1_000;
const shownCharacters = 100;

function unresolved(reference: string): ApiError {
  const shown = [...reference.trim()].slice(0, shownCharacters).join("");
  return new ApiError("BatchItemNotRun", `The reference {{${shown}}} does not resolve.`);
}

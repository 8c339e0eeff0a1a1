import { ApiError } from "../errors.ts";
import type { BatchItem } from "./batch.items.ts";

/** The results of the items before, by key: what references may name. */
export interface EarlierItems {
  /** Undefined when there is none of this key, or it failed. */
  find(key: string): unknown;
}

/** A literal `{{`, a reference, or the beginning of one that does not end. */
const mark = /\\\{\{|\{\{(.*?)\}\}|\{\{/gs;

/**
 * Puts the values in that the item refers to (surface.md section 11): `{{key.result.id}}` in its path or in any text of
 * its parameters. A text that is nothing but a reference takes the value with its type; a literal `{{` is written `\{{`.
 *
 * @throws ApiError BatchItemNotRun when a reference is malformed or does not resolve
 */
export function resolveReferences(item: BatchItem, earlier: EarlierItems): BatchItem {
  const path = replaceMarks(item.path, (reference) => encodeURIComponent(scalarText(reference, earlier)));
  try {
    const parameters = [...item.parameters].map(([name, value]) => [name, resolveValue(value, earlier)] as const);
    return { ...item, path, parameters };
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    throw new ApiError("BatchItemNotRun", "The parameters are nested too deep for references.", { cause: error });
  }
}

function resolveValue(value: unknown, earlier: EarlierItems): unknown {
  if (typeof value === "string") return resolveText(value, earlier);
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return value.map((each) => resolveValue(each, earlier));
  // fromEntries makes a member of any name, also of __proto__.
  return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, resolveValue(each, earlier)]));
}

function resolveText(text: string, earlier: EarlierItems): unknown {
  if (!text.includes("{{")) return text;
  const whole = /^\{\{((?:(?!\}\}).)*)\}\}$/s.exec(text)?.[1];
  if (whole !== undefined && !whole.includes("{{")) return lookUp(whole, earlier);
  return replaceMarks(text, (reference) => scalarText(reference, earlier));
}

function replaceMarks(text: string, replace: (reference: string) => string): string {
  if (!text.includes("{{")) return text;
  return text.replaceAll(mark, (found, reference: string | undefined) => {
    if (found.startsWith("\\")) return "{{";
    if (reference === undefined) throw new ApiError("BatchItemNotRun", "A reference has no end.");
    return replace(reference);
  });
}

/** Inside of a longer text there is place for texts, numbers and truth values alone. */
function scalarText(reference: string, earlier: EarlierItems): string {
  const value = lookUp(reference, earlier);
  if (typeof value === "object") throw unresolved(reference);
  return String(value);
}

/** A key may have dots in it as well: the longest one that there is counts. */
function lookUp(reference: string, earlier: EarlierItems): unknown {
  if (reference.length > referenceCharactersMax) throw unresolved(reference);
  const names = reference.trim().split(".");
  for (let length = names.length - 1; length >= 1; length -= 1) {
    const envelope = earlier.find(names.slice(0, length).join("."));
    if (envelope === undefined) continue;
    let value: unknown = envelope;
    for (const name of names.slice(length)) {
      if (typeof value !== "object" || value === null || !Object.hasOwn(value, name)) throw unresolved(reference);
      value = (value as Record<string, unknown>)[name]; // it has it
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

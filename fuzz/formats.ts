import type { JsonSchema } from "./schema.ts";

/** The meaning of a parameter, as far as its schema says. */
export type Format =
  | { readonly kind: "id"; readonly prefixes: readonly string[]; readonly words: readonly string[] }
  | { readonly kind: "choice"; readonly words: readonly string[] }
  | { readonly kind: "date" | "dateRange" | "location" | "locationRange" }
  | { readonly kind: "number"; readonly isInteger: boolean; readonly minimum?: number; readonly maximum?: number }
  | { readonly kind: "flag" | "list" | "members" | "json" | "file" | "scalarOrMembers" }
  | { readonly kind: "text"; readonly minLength: number; readonly maxLength?: number };

export function formatOf(schema: JsonSchema): Format {
  const { type, pattern, format = "", minimum, maximum, minLength = 0, maxLength } = schema;
  if (format === "binary") return { kind: "file" };
  if (pattern !== undefined) {
    const alternatives = pattern.split("|").map((each) => each.replaceAll(/[\^$]/g, ""));
    return {
      kind: "id",
      prefixes: alternatives.filter((each) => each.includes("_[")).map((each) => each.slice(0, 3)),
      words: alternatives.filter((each) => !each.includes("_[")),
    };
  }
  if (schema.enum !== undefined) return { kind: "choice", words: schema.enum.map(String) };
  const wireFormat = byFormat[format];
  if (wireFormat !== undefined) return { kind: wireFormat };
  if (type === "integer" || type === "number") {
    const bounds = { ...(minimum !== undefined && { minimum }), ...(maximum !== undefined && { maximum }) };
    return { kind: "number", isInteger: type === "integer", ...bounds };
  }
  if (type === "string") return { kind: "text", minLength, ...(maxLength !== undefined && { maxLength }) };
  if (schema.oneOf !== undefined) return { kind: "scalarOrMembers" };
  return { kind: byType[String(type)] ?? "json" };
}

const byFormat: Readonly<Record<string, "date" | "dateRange" | "location" | "locationRange">> = {
  "wire-date": "date",
  "wire-range": "dateRange",
  "wire-location": "location",
  "wire-area": "locationRange",
};

const byType: Readonly<Record<string, "flag" | "list" | "members">> = {
  boolean: "flag",
  array: "list",
  object: "members",
};

import type { JsonSchema } from "./schema.ts";

/** The meaning of a parameter, as far as its schema says. */
export type Format =
  | { readonly kind: "id"; readonly prefixes: readonly string[]; readonly words: readonly string[] }
  | { readonly kind: "choice"; readonly words: readonly string[] }
  | { readonly kind: "date" | "dateRange" | "location" | "locationRange" }
  | { readonly kind: "number"; readonly isInteger: boolean; readonly minimum?: number; readonly maximum?: number }
  | { readonly kind: "flag" | "list" | "members" | "json" | "file" | "scalar" | "scalarOrMembers" }
  | { readonly kind: "text"; readonly minLength: number; readonly maxLength?: number };

export function formatOf(schema: JsonSchema): Format {
  const { type, pattern, examples: [example] = [], minimum, maximum, minLength = 0, maxLength } = schema;
  if (schema.format === "binary") return { kind: "file" };
  if (pattern !== undefined) {
    const alternatives = pattern.split("|").map((each) => each.replaceAll(/[\^$]/g, ""));
    return {
      kind: "id",
      prefixes: alternatives.filter((each) => each.includes("_[")).map((each) => each.slice(0, 3)),
      words: alternatives.filter((each) => !each.includes("_[")),
    };
  }
  if (schema.enum !== undefined) return { kind: "choice", words: schema.enum.map(String) };
  if (example !== undefined)
    return { kind: byExample[String(example)] ?? fail(`no format has the example ${example}`) };
  if (type === "integer" || type === "number") {
    const bounds = { ...(minimum !== undefined && { minimum }), ...(maximum !== undefined && { maximum }) };
    return { kind: "number", isInteger: type === "integer", ...bounds };
  }
  if (type === "string") return { kind: "text", minLength, ...(maxLength !== undefined && { maxLength }) };
  if (Array.isArray(type)) return { kind: type.includes("object") ? "scalarOrMembers" : "scalar" };
  return { kind: byType[String(type)] ?? "json" };
}

const byExample: Readonly<Record<string, "date" | "dateRange" | "location" | "locationRange">> = {
  "1981-07-09": "date",
  "2026-01-01-2026-01-31T23:59:59Z": "dateRange",
  "48.2082,16.3738": "location",
  "48.2082,16.3738,1000": "locationRange",
};

const byType: Readonly<Record<string, "flag" | "list" | "members">> = {
  boolean: "flag",
  array: "list",
  object: "members",
};

function fail(message: string): never {
  throw new Error(message);
}

import { type DocumentedLimits, isObjectSchema, limitsOf, nameOf, partsOf, type Schema } from "../contract/schema.ts";

export type Json = null | boolean | number | string | Json[] | { [name: string]: Json };

/** The schemas of a document: objects and enumerations are components, and other schemas are inline. */
export interface SchemaComponents {
  /** @returns the schema, or a reference to its component with the description of the property */
  describe(schema: Schema): { [keyword: string]: Json };
  /** The components so far, by name. */
  list(): Record<string, Json>;
}

export function createSchemaComponents(limits: DocumentedLimits): SchemaComponents {
  const components = new Map<string, { readonly content: Json; readonly text: string }>();

  function describe(schema: Schema): { [keyword: string]: Json } {
    const name = nameOf(schema);
    if (name === undefined) return publishInline(schema);
    const { "x-about": about, description, default: byDefault, ...keywords } = schema;
    const [base, more] = partsOf(schema) ?? [];
    const whole = base === undefined || more === undefined ? keywords : { allOf: [base, more] };
    add(name, publish({ ...whole, description: about }));
    return { $ref: `#/components/schemas/${name}`, ...publish({ description, default: byDefault }) };
  }

  function add(name: string, content: Json): void {
    const text = JSON.stringify(content);
    const known = components.get(name);
    if (known !== undefined && known.text !== text) throw new Error(`Two different schemas have the name ${name}`);
    components.set(name, { content, text });
  }

  function publishInline(schema: Schema) {
    if (isObjectSchema(schema) || "enum" in schema) {
      throw new Error(`A schema needs a name: ${JSON.stringify(schema).slice(0, 200)}`);
    }
    return publish(schema);
  }

  /** Returns the keywords of a schema, without the internal `x-` keywords. */
  function publish(schema: Schema): { [keyword: string]: Json } {
    const published: { [keyword: string]: Json } = {};
    for (const [keyword, value] of Object.entries({ ...schema, ...limitsOf(schema, limits) })) {
      if (keyword.startsWith("x-") || value === undefined || isEmptyList(value)) continue;
      // The generated Java client does not compile with a constant boolean.
      if (keyword === "const" && schema["type"] === "boolean") continue;
      published[keyword] = publishKeyword(keyword, value);
    }
    // Generated clients would use 32-bit integers without this format.
    if (schema["type"] === "integer" && Number(schema["maximum"]) > int32Max) published["format"] = "int64";
    return published;
  }

  function publishKeyword(keyword: string, value: unknown): Json {
    if (keyword === "properties" && isSchema(value)) {
      return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, describeAny(each)]));
    }
    if (keyword === "oneOf" && Array.isArray(value)) return value.map(describeAny);
    if (keyword === "allOf" && Array.isArray(value))
      return value.map((part) => (nameOf(part) === undefined ? publish(part) : describe(part)));
    return keyword === "items" || keyword === "additionalProperties" ? describeAny(value) : plainJson(value);
  }

  function describeAny(value: unknown): Json {
    return isSchema(value) ? describe(value) : plainJson(value);
  }

  return {
    describe,
    list: () => Object.fromEntries([...components].sort(byRole).map(([name, { content }]) => [name, content])),
  };
}

const int32Max = 2 ** 31 - 1;

function isSchema(value: unknown): value is Schema {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function isEmptyList(value: unknown): boolean {
  return Array.isArray(value) && value.length === 0;
}

function plainJson(value: unknown): Json {
  return JSON.parse(JSON.stringify(value));
}

/** Places similar components next to each other, where they compress well. */
function byRole([a]: readonly [string, unknown], [b]: readonly [string, unknown]): number {
  return roleKey(a) < roleKey(b) ? -1 : 1;
}

function roleKey(name: string): string {
  const role = roles.findIndex((ending) => name.endsWith(ending));
  return `${role} ${role === -1 ? name.replace(beginnings, "") : name} ${name}`;
}

const roles = ["Answer", "Page"];
/** Prefixes in the names of requests and results for a resource. */
const beginnings = /^(?:Change|Changed|Create|Created|Listed|Operated|Public|Put|Register|Social)+(?=[A-Z])/;

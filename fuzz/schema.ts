import { compileSchema as compile, type JsonSchema, type Judge } from "../sdk/src/parts/testing/answer-schema.ts";

export type { JsonSchema, Judge };

const known: ReadonlySet<string> = new Set([
  ...["type", "properties", "required", "items", "enum", "const", "pattern", "minLength", "maxLength"],
  ...["minimum", "maximum", "minItems", "maxItems", "default", "format", "description", "$ref"],
  ...["additionalProperties", "oneOf", "allOf"],
]);

/**
 * Validates responses as the client's testing kit does. An unknown keyword is a fault of the fuzzer, and throws.
 *
 * @param definitions the schemas that `$ref` names
 */
export function compileSchema(schema: JsonSchema, definitions: Readonly<Record<string, JsonSchema>>): Judge {
  requireKnown(schema, definitions, new Set());
  return compile(schema, definitions);
}

function requireKnown(
  schema: JsonSchema,
  definitions: Readonly<Record<string, JsonSchema>>,
  seen: Set<JsonSchema | undefined>,
): void {
  if (seen.has(schema)) return;
  seen.add(schema);
  const unknown = Object.keys(schema).find((word) => !known.has(word));
  if (unknown !== undefined) throw new Error(`the schema has the unknown keyword ${unknown}`);
  const { $ref, properties = {}, items, additionalProperties, oneOf = [], allOf = [] } = schema;
  const target = $ref === undefined ? undefined : definitions[$ref.replace("#/components/schemas/", "")];
  for (const part of [target, items, additionalProperties, ...Object.values(properties), ...oneOf, ...allOf]) {
    if (part !== undefined) requireKnown(part, definitions, seen);
  }
}

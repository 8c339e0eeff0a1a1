import { isOptional, type ObjectSchema, type Schema } from "./schema.ts";

type Write = (value: unknown) => unknown;

/**
 * Writes results as JSON by their schema: what it does not declare is left out, a missing required property throws.
 */
export function createSerializer(schema: Schema): (result: unknown) => string {
  const prune = compile(schema);
  return (result) => JSON.stringify(prune(result));
}

function compile(schema: Schema): Write {
  if (schema["type"] === "object") return compileObject(schema as ObjectSchema); // `type` says which schema it is
  if (schema["type"] === "array") {
    const prune = compile(schema["items"] as Schema); // an array's schema has items
    return (value) => (value as unknown[]).map(prune); // the handler's result has the schema's static type
  }
  return (value) => value;
}

function compileObject({ properties }: ObjectSchema): Write {
  const declared = Object.entries(properties).map(([name, schema]) => ({
    name,
    isRequired: !isOptional(schema),
    prune: compile(schema),
  }));
  return (value) => {
    const pruned: Record<string, unknown> = {};
    for (const { name, isRequired, prune } of declared) {
      const property = (value as Record<string, unknown>)[name];
      if (property !== undefined) pruned[name] = prune(property);
      else if (isRequired) throw new Error(`The result has no ${name}`);
    }
    return pruned;
  };
}

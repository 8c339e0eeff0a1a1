import { isOptional, type ObjectSchema, type Schema } from "./schema.ts";

type Write = (value: unknown) => unknown;
type WriteText = (value: unknown) => string;

/**
 * Compiles a writer of results as JSON by their schema: undeclared properties are omitted, and a missing required
 * property throws. The value of a schema with `x-raw` is JSON text and is inserted unchanged.
 */
export function createSerializer(schema: Schema): WriteText {
  return compileText(schema);
}

/**
 * Concatenates texts only on the way to raw values, and leaves everything else to `JSON.stringify`, which is faster.
 */
function compileText(schema: Schema): WriteText {
  if (schema["x-raw"] === true) return (value) => value as string; // the static type of a raw schema
  if (!hasRaw(schema)) {
    const prune = compile(schema);
    return (value) => JSON.stringify(prune(value));
  }
  if (schema["type"] === "array") {
    const write = compileText(schema["items"] as Schema); // an array's schema has items
    return (value) => `[${(value as unknown[]).map(write).join()}]`; // the handler's result has the schema's static type
  }
  return compileObjectText(schema as ObjectSchema); // only arrays and objects can contain raw values
}

function compileObjectText({ properties }: ObjectSchema): WriteText {
  const declared = declaredProperties(properties, compileText);
  return (value) => {
    let text = "";
    for (const { name, isRequired, write } of declared) {
      const property = (value as Record<string, unknown>)[name]; // the result has the static type of the object schema
      if (property !== undefined) text += `${text === "" ? "{" : ","}${JSON.stringify(name)}:${write(property)}`;
      else if (isRequired) throw new Error(`The result has no ${name}`);
    }
    return text === "" ? "{}" : `${text}}`;
  };
}

function hasRaw(schema: Schema): boolean {
  if (schema["x-raw"] === true) return true;
  if (schema["type"] === "array") return hasRaw(schema["items"] as Schema); // an array's schema has items
  // `type` says which schema it is.
  return schema["type"] === "object" && Object.values((schema as ObjectSchema).properties).some(hasRaw);
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
  const declared = declaredProperties(properties, compile);
  return (value) => {
    const pruned: Record<string, unknown> = {};
    for (const { name, isRequired, write } of declared) {
      const property = (value as Record<string, unknown>)[name]; // the result has the static type of the object schema
      if (property !== undefined) pruned[name] = write(property);
      else if (isRequired) throw new Error(`The result has no ${name}`);
    }
    return pruned;
  };
}

function declaredProperties<Writer>(
  properties: ObjectSchema["properties"],
  compileProperty: (schema: Schema) => Writer,
) {
  return Object.entries(properties).map(([name, schema]) => ({
    name,
    isRequired: !isOptional(schema),
    write: compileProperty(schema),
  }));
}

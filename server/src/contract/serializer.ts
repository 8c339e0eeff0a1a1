import { compileObject } from "../lib/compile-object.ts";
import { isObjectSchema, isOptional, type ObjectSchema, type Schema } from "./schema.ts";

type Prune = (value: unknown) => unknown;
type WriteText = (value: unknown) => string;

/**
 * Creates a function that writes results as JSON by their schema: it omits undeclared properties, and throws if a
 * required property is missing. The value of a schema with `x-raw` is JSON and is inserted unchanged.
 */
export function createSerializer(schema: Schema): WriteText {
  let write: WriteText | undefined; // compiled at the first result, because most processes need few serializers
  return (value) => {
    write ??= compileText(schema);
    return write(value);
  };
}

/**
 * Concatenates strings only for schemas that contain raw values; `JSON.stringify` writes all others, because it is
 * faster.
 */
function compileText(schema: Schema): WriteText {
  if (schema["x-raw"] === true) return (value) => value as string; // the static type of a raw schema
  if (!hasRaw(schema)) {
    const prune = compilePruning(schema);
    return prune === undefined ? (value) => JSON.stringify(value) : (value) => JSON.stringify(prune(value));
  }
  if (schema["type"] === "array") {
    const write = compileText(schema["items"] as Schema); // an array's schema has items
    return (value) => `[${(value as unknown[]).map(write).join()}]`; // the static type of the schema
  }
  return compileObjectText(schema as ObjectSchema); // only arrays and objects can contain raw values
}

function compileObjectText({ properties }: ObjectSchema): WriteText {
  const declared = Object.entries(properties).map(([name, schema]) => ({
    ...{ name, isRequired: !isOptional(schema) },
    write: compileText(schema),
  }));
  return (value) => {
    let text = "";
    for (const { name, isRequired, write } of declared) {
      const property = (value as Record<string, unknown>)[name]; // the static type of the schema
      if (property !== undefined) text += `${text === "" ? "{" : ","}${JSON.stringify(name)}:${write(property)}`;
      else if (isRequired) throw new Error(`The object has no ${name}`);
    }
    return text === "" ? "{}" : `${text}}`;
  };
}

function hasRaw(schema: Schema): boolean {
  if (schema["x-raw"] === true) return true;
  if (schema["type"] === "array") return hasRaw(schema["items"] as Schema); // an array's schema has items
  return isObjectSchema(schema) && Object.values(schema.properties).some(hasRaw);
}

/**
 * Compiles a function that copies the declared properties. @returns undefined if values of the schema have no
 * properties
 */
function compilePruning(schema: Schema): Prune | undefined {
  if (isObjectSchema(schema)) {
    return compileObject(
      Object.entries(schema.properties).map(([name, property]) => ({
        ...{ name, from: name, isRequired: !isOptional(property) },
        convert: compilePruning(property),
      })),
    );
  }
  if (schema["type"] !== "array") return undefined;
  const prune = compilePruning(schema["items"] as Schema); // an array's schema has items
  return prune && ((value) => (value as unknown[]).map((item) => prune(item))); // the static type of the schema
}

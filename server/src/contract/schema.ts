/**
 * The schemas of contracts: JSON Schema objects with a static type. A schema defines the type of a handler's input or
 * result, the reader of parameters (`wire.ts`), the writer of results (`serializer.ts`) and the entry in OpenAPI.
 */

declare const staticType: unique symbol;
const optional: unique symbol = Symbol("optional");

/** A JSON Schema of values of type T. */
export interface Schema<T = unknown> {
  readonly [staticType]?: T;
  readonly [keyword: string]: unknown;
}

/** The schema of a property that may be absent. */
export interface OptionalSchema<T = unknown> extends Schema<T> {
  readonly [optional]: true;
}

export type Properties = Readonly<Record<string, Schema>>;

export interface ObjectSchema<P extends Properties = Properties> extends Schema<StaticObject<P>> {
  readonly type: "object";
  readonly properties: P;
  /** The names of the required properties. */
  readonly required: readonly string[];
}

export interface ArraySchema<T = unknown> extends Schema<T[]> {
  readonly type: "array";
  readonly items: Schema<T>;
}

/** The static type of a schema. */
export type Static<S> = S extends Schema<infer T> ? T : never;

type OptionalNames<P> = { [Name in keyof P]: P[Name] extends OptionalSchema ? Name : never }[keyof P];
type StaticObject<P> = { [Name in Exclude<keyof P, OptionalNames<P>>]: Static<P[Name]> } & {
  [Name in OptionalNames<P>]?: Static<P[Name]>;
};

type Keywords = Readonly<Record<string, unknown>>;

/** Creates schemas. */
export const Type = {
  String: (keywords: Keywords = {}): Schema<string> => ({ type: "string", ...keywords }),
  Number: (keywords: Keywords = {}): Schema<number> => ({ type: "number", ...keywords }),
  Integer: (keywords: Keywords = {}): Schema<number> => ({ type: "integer", ...keywords }),
  Boolean: (keywords: Keywords = {}): Schema<boolean> => ({ type: "boolean", ...keywords }),
  Literal: <const T extends string | number | boolean>(value: T): Schema<T> => ({
    type: typeof value === "number" ? "integer" : typeof value,
    const: value,
  }),
  Array: <T>(items: Schema<T>): ArraySchema<T> => ({ type: "array", items }),
  /** Creates a schema with any keywords and an explicit static type. */
  Unsafe: <T>(keywords: Keywords): Schema<T> => keywords,
  Optional: <T>(schema: Schema<T>): OptionalSchema<T> => ({ ...schema, [optional]: true }),
  Object: <P extends Properties>(properties: P): ObjectSchema<P> => ({
    type: "object",
    properties,
    required: Object.keys(properties).filter((name) => !isOptional(properties[name])),
  }),
  /** Creates the schema of an object with arbitrary names, which is written unchanged in results. */
  Record: <T>(values: Schema<T>): Schema<Record<string, T>> => ({ type: "object", additionalProperties: values }),
};

/**
 * Gives a schema a name in OpenAPI, where every object and every enumeration has one. The `description` of a schema
 * describes the property that has the schema.
 *
 * @param about undefined for objects that need no description: requests, pages and envelopes
 */
export function named<S extends Schema>(name: string, about: string | undefined, schema: S): S {
  return { ...schema, "x-name": name, "x-about": about };
}

/** Creates a named object with all properties of another one, to which OpenAPI refers, and further properties. */
export function extended<P extends Properties, More extends Properties>(
  name: string,
  about: string,
  base: ObjectSchema<P>,
  more: More,
): ObjectSchema<P & More> {
  const parts: readonly ObjectSchema[] = [base, Type.Object(more)];
  return named(name, about, { ...Type.Object({ ...base.properties, ...more }), "x-parts": parts });
}

/** Returns the base of an {@link extended} object and its further properties. */
export function partsOf(schema: Schema): readonly ObjectSchema[] | undefined {
  return schema["x-parts"] as readonly ObjectSchema[] | undefined; // set by `extended`
}

/** The settings of a deployment that bound parameters in OpenAPI. */
export interface DocumentedLimits {
  readonly pageItemsDefault: number;
  readonly pageItemsMax: number;
  readonly batchItemsMax: number;
}

/** Documents bounds that depend on settings, and that the handler checks instead of the reader. */
export function withLimits<S extends Schema>(schema: S, keywords: (limits: DocumentedLimits) => Keywords): S {
  return { ...schema, "x-limits": keywords };
}

/** Returns the name from {@link named}. */
export function nameOf(schema: Schema): string | undefined {
  const name = schema["x-name"];
  return typeof name === "string" ? name : undefined;
}

/** The schema of one of several words. */
export interface Enumeration<Word extends string> extends Schema<Word> {
  readonly enum: readonly Word[];
}

/** @param meanings the description of each word, in the order of the documentation */
export function enumeration<const Word extends string>(
  name: string,
  about: string,
  meanings: Readonly<Record<Word, string>>,
): Enumeration<Word> {
  const words = Object.keys(meanings) as Word[]; // Object.keys returns string[]
  const lines = words.map((word) => `- \`${word}\`: ${meanings[word]}`);
  return named(name, [about, "", ...lines].join("\n"), { type: "string", enum: words });
}

/** Returns the keywords from {@link withLimits} for a deployment. */
export function limitsOf(schema: Schema, limits: DocumentedLimits): Keywords {
  const keywords = schema["x-limits"];
  return typeof keywords === "function" ? keywords(limits) : {};
}

/** Whether a schema is an object with declared properties. */
export function isObjectSchema(schema: Schema): schema is ObjectSchema {
  return schema["type"] === "object" && "properties" in schema;
}

export function isOptional(schema: Schema | undefined): schema is OptionalSchema {
  return schema !== undefined && optional in schema;
}

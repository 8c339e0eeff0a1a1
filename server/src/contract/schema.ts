/**
 * The schemas of contracts: JSON Schema objects that carry their static type. One schema is the type of a handler's
 * input or result, the reader of parameters (`wire.ts`), the writer of results (`serializer.ts`) and the entry in
 * OpenAPI.
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
  /** A schema from its keywords, with an explicit static type. */
  Unsafe: <T>(keywords: Keywords): Schema<T> => keywords,
  Optional: <T>(schema: Schema<T>): OptionalSchema<T> => ({ ...schema, [optional]: true }),
  Object: <P extends Properties>(properties: P): ObjectSchema<P> => ({
    type: "object",
    properties,
    required: Object.keys(properties).filter((name) => !isOptional(properties[name])),
  }),
  /** An object with any names; results of it are written unchanged. */
  Record: <T>(values: Schema<T>): Schema<Record<string, T>> => ({ type: "object", additionalProperties: values }),
};

/**
 * Gives a schema a name in OpenAPI, where every object and every list of words has one. A `description` of the schema
 * describes the property that has it.
 *
 * @param about undefined for objects that are plain from their name: requests, pages and envelopes
 */
export function named<S extends Schema>(name: string, about: string | undefined, schema: S): S {
  return { ...schema, "x-name": name, "x-about": about };
}

/** A named object with everything of another one, to which OpenAPI refers, and more. */
export function extended<P extends Properties, More extends Properties>(
  name: string,
  about: string,
  base: ObjectSchema<P>,
  more: More,
): ObjectSchema<P & More> {
  const parts: readonly ObjectSchema[] = [base, Type.Object(more)];
  return named(name, about, { ...Type.Object({ ...base.properties, ...more }), "x-parts": parts });
}

/** The base of an {@link extended} object, and what it has besides. */
export function partsOf(schema: Schema): readonly ObjectSchema[] | undefined {
  return schema["x-parts"] as readonly ObjectSchema[] | undefined; // as `extended` has set it
}

/** The settings of a deployment that OpenAPI shows as bounds of parameters. */
export interface DocumentedLimits {
  readonly pageItemsDefault: number;
  readonly pageItemsMax: number;
  readonly batchItemsMax: number;
}

/** Adds the bounds that handlers check, so that readers do not have to. */
export function withLimits<S extends Schema>(schema: S, keywords: (limits: DocumentedLimits) => Keywords): S {
  return { ...schema, "x-limits": keywords };
}

/** The name that {@link named} has given. */
export function nameOf(schema: Schema): string | undefined {
  const name = schema["x-name"];
  return typeof name === "string" ? name : undefined;
}

/** A schema of one of several words. */
export interface Enumeration<Word extends string> extends Schema<Word> {
  readonly enum: readonly Word[];
}

/** @param meanings what each word stands for, in the order of the documentation */
export function enumeration<const Word extends string>(
  name: string,
  about: string,
  meanings: Readonly<Record<Word, string>>,
): Enumeration<Word> {
  const words = Object.keys(meanings) as Word[]; // Object.keys forgets the key type
  const lines = words.map((word) => `- \`${word}\`: ${meanings[word]}`);
  return named(name, [about, "", ...lines].join("\n"), { type: "string", enum: words });
}

/** The keywords that {@link withLimits} has added, for a deployment. */
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

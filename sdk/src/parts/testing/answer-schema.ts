/** @returns the violation of the schema by a value; undefined when it is valid */
export type Judge = (value: unknown, path: string) => string | undefined;

/** The keywords of JSON Schema that the document of the service uses. */
export interface JsonSchema {
  readonly type?: string | readonly string[];
  readonly properties?: Readonly<Record<string, JsonSchema>>;
  readonly required?: readonly string[];
  readonly additionalProperties?: JsonSchema;
  readonly items?: JsonSchema;
  readonly oneOf?: readonly JsonSchema[];
  readonly allOf?: readonly JsonSchema[];
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  readonly pattern?: string;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly minItems?: number;
  readonly maxItems?: number;
  readonly default?: unknown;
  readonly format?: string;
  readonly description?: string;
  readonly $ref?: string;
}

export type SchemaDefinitions = Readonly<Record<string, JsonSchema>>;

/**
 * Validates results more strictly than JSON Schema does: an object with declared members must not have others, and a date
 * must be one.
 *
 * @param definitions the schemas that `$ref` names
 * @throws Error if a definition is missing
 */
export function compileSchema(schema: JsonSchema, definitions: SchemaDefinitions): Judge {
  if (schema.$ref !== undefined) return compileSchema(definitionOf(schema.$ref, definitions), definitions);
  if (schema.allOf !== undefined) return compileSchema(mergeParts(schema.allOf, definitions), definitions);
  const judges = [
    ...(schema.type === undefined ? [] : [judgeType([schema.type].flat())]),
    ...("const" in schema ? [judgeChoice([schema.const])] : []),
    ...(schema.enum === undefined ? [] : [judgeChoice(schema.enum)]),
    ...(schema.pattern === undefined ? [] : [judgePattern(new RegExp(schema.pattern, "u"))]),
    ...(schema.format === "wire-date" ? [judgePattern(wireDate)] : []),
    ...(schema.properties === undefined ? [] : [judgeMembers(schema, definitions)]),
    ...(schema.oneOf === undefined ? [] : [judgeAny(schema.oneOf.map((each) => compileSchema(each, definitions)))]),
    ...(schema.additionalProperties === undefined
      ? []
      : [judgeValues(compileSchema(schema.additionalProperties, definitions))]),
    ...(schema.items === undefined ? [] : [judgeItems(compileSchema(schema.items, definitions))]),
  ];
  return (value, path) => {
    for (const judge of judges) {
      const problem = judge(value, path);
      if (problem !== undefined) return problem;
    }
    return undefined;
  };
}

const wireDate = /^\/Date\(-?\d{1,16}\)\/$/;

function definitionOf(reference: string, definitions: SchemaDefinitions): JsonSchema {
  const found = definitions[reference.replace("#/components/schemas/", "")];
  if (found === undefined) throw new Error(`the document has no ${reference}`);
  return found;
}

/** An object with the members of all its parts. */
function mergeParts(parts: readonly JsonSchema[], definitions: SchemaDefinitions): JsonSchema {
  const resolved = parts.map((part): JsonSchema => {
    const target = part.$ref === undefined ? part : definitionOf(part.$ref, definitions);
    return target.allOf === undefined ? target : mergeParts(target.allOf, definitions);
  });
  return {
    type: "object",
    properties: Object.assign({}, ...resolved.map(({ properties }) => properties)),
    required: resolved.flatMap(({ required = [] }) => required),
  };
}

function judgeType(types: readonly string[]): Judge {
  return (value, path) => {
    const type = typeOf(value);
    const isOne = types.includes(type) || (types.includes("number") && type === "integer");
    return isOne ? undefined : `${path} is of type ${type}, not ${types.join(" or ")}`;
  };
}

function typeOf(value: unknown): string {
  if (value === null) return "null";
  if (Array.isArray(value)) return "array";
  return Number.isInteger(value) ? "integer" : typeof value;
}

function judgeChoice(choices: readonly unknown[]): Judge {
  return (value, path) =>
    choices.includes(value) ? undefined : `${path} is ${JSON.stringify(value)}, not ${JSON.stringify(choices)}`;
}

function judgePattern(pattern: RegExp): Judge {
  return (value, path) =>
    typeof value !== "string" || pattern.test(value) ? undefined : `${path} does not match ${pattern.source}`;
}

/** At least one of the schemas fits: the document has none that overlap. */
function judgeAny(judges: readonly Judge[]): Judge {
  return (value, path) => {
    const problems = judges.map((judge) => judge(value, path));
    return problems.includes(undefined) ? undefined : problems.join(", and ");
  };
}

function judgeValues(judge: Judge): Judge {
  return (value, path) => {
    for (const [name, member] of Object.entries(Object(value))) {
      const problem = judge(member, `${path}.${name}`);
      if (problem !== undefined) return problem;
    }
    return undefined;
  };
}

function judgeItems(judge: Judge): Judge {
  return (value, path) => {
    if (!Array.isArray(value)) return undefined;
    for (const [index, item] of value.entries()) {
      const problem = judge(item, `${path}[${index}]`);
      if (problem !== undefined) return problem;
    }
    return undefined;
  };
}

function judgeMembers(schema: JsonSchema, definitions: SchemaDefinitions): Judge {
  const members = new Map(
    Object.entries(schema.properties ?? {}).map(([name, each]) => [name, compileSchema(each, definitions)]),
  );
  const required = schema.required ?? [];
  return (value, path) => {
    if (typeof value !== "object" || value === null) return undefined;
    for (const name of required) if (!Object.hasOwn(value, name)) return `${path} has no ${name}`;
    for (const [name, member] of Object.entries(value)) {
      const judge = members.get(name);
      if (judge === undefined) return `${path} has an undeclared member ${name}`;
      const problem = judge(member, `${path}.${name}`);
      if (problem !== undefined) return problem;
    }
    return undefined;
  };
}

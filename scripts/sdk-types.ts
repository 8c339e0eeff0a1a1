import { type ApiParameter, type ApiSchema, renderComment } from "./sdk-schema.ts";

/** Whether the app writes or reads values of a type. */
type Direction = "in" | "out";

/** A result that repeats another under a misspelt name. */
const misspelt = "elaspedTimeInMs";
/** Dates in some results: a mail address, names of fields, and an object of changes never read like a date. */
const sometimesDates: ReadonlySet<string> = new Set(["from", "changed"]);
/** Free-form members, which the client passes unchanged. */
const freeForm: ReadonlySet<string> = new Set(["value", "values", "details", "result", "parameters"]);

/** Declares an interface for each schema that is used, flat and with its description. */
export class SdkTypes {
  readonly dateMembers: Set<string> = new Set();
  readonly #schemas: Readonly<Record<string, ApiSchema>>;
  readonly #declared = new Map<string, { text: string; hasRequired: boolean; isTaken: boolean }>();
  readonly #otherMembers = new Set<string>();

  constructor(schemas: Readonly<Record<string, ApiSchema>>) {
    this.#schemas = schemas;
  }

  /** The declarations since the last call. */
  take(): { readonly names: readonly string[]; readonly declarations: string } {
    const ambiguous = [...this.dateMembers].filter((name) => this.#otherMembers.has(name) && !sometimesDates.has(name));
    if (ambiguous.length > 0) throw new Error(`members that are dates and others: ${ambiguous.join(", ")}`);
    const fresh = [...this.#declared].filter(([, { isTaken }]) => !isTaken).sort(([a], [b]) => (a < b ? -1 : 1));
    for (const [, declared] of fresh) declared.isTaken = true;
    return { names: fresh.map(([name]) => name), declarations: fresh.map(([, { text }]) => text).join("\n") };
  }

  hasRequired(name: string): boolean {
    return this.#declared.get(name)?.hasRequired ?? false;
  }

  /** Follows a reference. */
  resolve(schema: ApiSchema): ApiSchema {
    const resolved = schema.$ref === undefined ? schema : this.#schemas[nameOf(schema.$ref)];
    if (resolved === undefined) throw new Error(`${schema.$ref} is not in the document`);
    return resolved.allOf === undefined ? resolved : this.#flatten(resolved, resolved.allOf);
  }

  /** Objects that extend another are flat interfaces. */
  #flatten({ description }: ApiSchema, parts: readonly ApiSchema[]): ApiSchema {
    const resolved = parts.map((part) => this.resolve(part));
    return {
      type: "object",
      ...(description !== undefined && { description }),
      properties: Object.fromEntries(resolved.flatMap(({ properties = {} }) => Object.entries(properties))),
      required: resolved.flatMap(({ required = [] }) => required),
    };
  }

  /** Declares a type for the query of an operation. Returns its name. */
  declareQuery(name: string, operation: string, parameters: readonly ApiParameter[]): string {
    const properties = Object.fromEntries(
      parameters.map(({ name, description, schema }) => [
        name,
        description === undefined ? schema : { ...schema, description },
      ]),
    );
    const required = parameters.filter((parameter) => parameter.required).map((parameter) => parameter.name);
    const description = `What ${operation} looks for.`;
    this.#declare(name, { type: "object", properties, required, description }, "in");
    return name;
  }

  /** The type of a schema, which is declared if it has a name. */
  use(schema: ApiSchema, direction: Direction): string {
    if (schema.$ref !== undefined) {
      const name = nameOf(schema.$ref);
      const target = this.resolve(schema);
      if (name === "Coordinates") return "Place";
      if (target.enum !== undefined || target.properties !== undefined) this.#declare(name, target, direction);
      else return this.use(target, direction);
      // The service may answer with more values than this version knows.
      return target.enum !== undefined && direction === "out" ? `${name} | (string & {})` : name;
    }
    if (schema.const !== undefined) return JSON.stringify(schema.const);
    if (schema.enum !== undefined) {
      const words = schema.enum.map((word) => JSON.stringify(word)).join(" | ");
      return direction === "out" ? `${words} | (string & {})` : words;
    }
    if (schema.oneOf !== undefined) return schema.oneOf.map((one) => this.use(one, direction)).join(" | ");
    if (schema.type === "array") return `readonly ${grouped(this.use(schema.items ?? {}, direction))}[]`;
    if (schema.type === "object") {
      const { properties, additionalProperties: members } = schema;
      if (properties !== undefined) return `{ ${this.#members(schema, direction).join(" ")} }`.replaceAll("\n", " ");
      return `Readonly<Record<string, ${typeof members === "object" ? this.use(members, direction) : "unknown"}>>`;
    }
    return (
      { string: textType(schema), integer: "number", number: "number", boolean: "boolean" }[schema.type ?? ""] ??
      "unknown"
    );
  }

  #declare(name: string, schema: ApiSchema, direction: Direction): void {
    if (this.#declared.has(name)) return;
    const declared = { text: "", hasRequired: (schema.required ?? []).length > 0, isTaken: false };
    this.#declared.set(name, declared);
    const comment = renderComment([schema.description]);
    if (schema.enum !== undefined) {
      declared.text = `${comment}export type ${name} = ${schema.enum.map((word) => JSON.stringify(word)).join(" | ")};\n`;
      return;
    }
    // A form is its file beside the parameters, which are one object on the wire.
    const { data, body, ...others } = schema.properties ?? {};
    const isForm = data?.format === "binary";
    const base = isForm && body !== undefined ? ` extends ${this.use(body, "in")}` : "";
    const fields = isForm ? { ...schema, properties: { data, ...others } } : schema;
    declared.text = `${comment}export interface ${name}${base} {\n${this.#members(fields, direction).join("")}}\n`;
    if (base !== "") declared.hasRequired = true;
  }

  #members({ properties = {}, required = [] }: ApiSchema, direction: Direction): string[] {
    return Object.entries(properties)
      .filter(([name]) => name !== misspelt)
      .flatMap(([name, schema]) => {
        if (schema.format === "wire-area") return areaMembers;
        if (direction === "out" && !freeForm.has(name)) this.#noteDate(name, schema);
        const isOptional = !required.includes(name);
        const type = `${this.use(schema, direction)}${isOptional && direction === "in" ? " | undefined" : ""}`;
        const comment = renderComment([schema.description], "  ");
        return [`${comment}  readonly ${memberName(name, direction)}${isOptional ? "?" : ""}: ${type};\n`];
      });
  }

  #noteDate(name: string, schema: ApiSchema): void {
    (this.resolve(schema).format === "wire-date" ? this.dateMembers : this.#otherMembers).add(name);
  }
}

const areaMembers = [
  "  /** Within a circle. */\n  readonly near?: Near | undefined;\n",
  "  /** Within a box. */\n  readonly box?: Box | undefined;\n",
];

function nameOf(reference: string): string {
  return reference.slice(reference.lastIndexOf("/") + 1);
}

/** The service takes names in any case. */
function memberName(name: string, direction: Direction): string {
  const spelt = name === "username" && direction === "in" ? "userName" : name;
  return /^[A-Za-z_]\w*$/.test(spelt) ? spelt : JSON.stringify(spelt);
}

function textType({ format }: ApiSchema): string {
  const types: Readonly<Record<string, string>> = {
    "wire-date": "Date",
    "wire-range": "DateRange",
    "wire-location": "Place | string",
    binary: "Source",
  };
  return types[format ?? ""] ?? "string";
}

function grouped(type: string): string {
  return /[|&]/.test(type) ? `(${type})` : type;
}

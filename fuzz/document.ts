import { compileSchema, type JsonSchema, type Judge } from "./schema.ts";

/** An OpenAPI document, in the form that the fuzzer needs. */

export interface Parameter {
  readonly name: string;
  readonly isRequired: boolean;
  readonly schema: JsonSchema;
}

export type Method = "GET" | "HEAD" | "POST" | "PUT" | "PATCH" | "DELETE";
export type CallerKind = "anyone" | "device" | "user" | "operator";

export interface Operation {
  readonly id: string;
  readonly method: Method;
  readonly path: string;
  readonly caller: CallerKind;
  readonly inPath: readonly Parameter[];
  readonly inQuery: readonly Parameter[];
  readonly inHeaders: readonly Parameter[];
  readonly inBody: readonly Parameter[];
  /** Whether it takes an Idempotency-Key, which is not among `inHeaders`. */
  readonly isKeyed: boolean;
  /** The kind of its body. */
  readonly takes: "nothing" | "parameters" | "form" | "bytes";
  readonly answers: ReadonlyMap<number, DeclaredAnswer>;
}

export interface DeclaredAnswer {
  /** Of the whole envelope; undefined for a response without one. */
  readonly judge?: Judge;
  /** The errors it declares, as `ItemDoesNotExist 769`. */
  readonly errors: ReadonlySet<string>;
  readonly isBytes: boolean;
}

interface Described {
  readonly operationId: string;
  readonly "x-caller": CallerKind;
  readonly "x-errors": readonly string[];
  readonly "x-excluded-errors"?: readonly string[];
  readonly parameters?: readonly (Reference | DescribedParameter)[];
  readonly requestBody?: { readonly content: Readonly<Record<string, { readonly schema: JsonSchema }>> };
  readonly responses: Readonly<Record<string, Reference | Response>>;
}

interface Reference {
  readonly $ref: string;
}

interface DescribedParameter {
  readonly name: string;
  readonly in: "path" | "query" | "header";
  readonly required?: boolean;
  readonly schema: JsonSchema;
}

interface Response {
  readonly content?: Readonly<Record<string, { readonly schema: JsonSchema }>>;
}

export interface Document {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Described>>>>;
  readonly components: {
    readonly schemas: Readonly<Record<string, JsonSchema>>;
    readonly parameters: Readonly<Record<string, DescribedParameter>>;
    readonly responses: Readonly<Record<string, Response>>;
  };
  readonly "x-caller-errors": Readonly<Record<CallerKind, readonly string[]>>;
  readonly "x-error-catalogue": readonly { condition: string; name: string; number: number; status: number }[];
}

export function readOperations(document: Document): Operation[] {
  return Object.entries(document.paths).flatMap(([path, item]) =>
    Object.entries(item).map(([method, described]) => readOperation(method, path, described, document)),
  );
}

function readOperation(
  method: string,
  path: string,
  { operationId, parameters = [], requestBody, responses, ...described }: Described,
  { components, "x-error-catalogue": catalogue, "x-caller-errors": ofCallers }: Document,
): Operation {
  const read = (name: string, isRequired: boolean | undefined, schema: JsonSchema) => ({
    name,
    isRequired: isRequired === true,
    schema: resolve(schema, components.schemas),
  });
  const all = parameters.map((each) => resolve(each, components.parameters));
  const of = (place: string) =>
    all.filter((each) => each.in === place).map(({ name, required, schema }) => read(name, required, schema));
  const membersOf = ({ properties = {}, required = [] }: JsonSchema) =>
    Object.entries(properties).map(([name, schema]) => read(name, required.includes(name), schema));
  const [type = "", { schema: body = {} } = {}] = Object.entries(requestBody?.content ?? {})[0] ?? [];
  const members = membersOf(resolve(body, components.schemas));
  const excluded = described["x-excluded-errors"] ?? [];
  const ofCaller = ofCallers[described["x-caller"]].filter((condition) => !excluded.includes(condition));
  const declared = catalogue.filter(({ condition }) => [...described["x-errors"], ...ofCaller].includes(condition));
  const { default: failure, ...successes } = responses;
  const failures =
    failure === undefined ? [] : declared.map(({ status }): [string, typeof failure] => [`${status}`, failure]);
  return {
    id: operationId,
    method: method.toUpperCase() as Method, // the document has no other methods
    path,
    caller: described["x-caller"],
    inPath: of("path"),
    inQuery: of("query"),
    inHeaders: of("header").filter((each) => each.name !== keyHeader && each.name !== rehearseHeader),
    isKeyed: of("header").some((each) => each.name === keyHeader),
    // Each parameter of an upload may be a part of its own.
    inBody: members.flatMap((member) =>
      member.name === "body" && type === formType ? membersOf(member.schema) : [member],
    ),
    takes: bodies[type] ?? "nothing",
    answers: new Map(
      [...Object.entries(successes), ...failures].map(([status, response]) => [
        Number(status),
        {
          ...readAnswer(resolve(response, components.responses), components.schemas),
          errors: new Set(
            declared.filter((row) => row.status === Number(status)).map(({ name, number }) => `${name} ${number}`),
          ),
        },
      ]),
    ),
  };
}

/** The component that a reference names, or the value itself. */
function resolve<T extends object>(value: T | Reference, components: Readonly<Record<string, T>>): T {
  if (!("$ref" in value) || typeof value.$ref !== "string") return value as T; // only references have a $ref
  const found = components[value.$ref.split("/").at(-1) ?? ""];
  if (found === undefined) throw new Error(`the document has no ${value.$ref}`);
  return found;
}

const keyHeader = "Idempotency-Key";
/** Not sent: it would end calls before they are judged. */
const rehearseHeader = "Rollcall-Rehearse";
const formType = "multipart/form-data";

const bodies: Readonly<Record<string, Operation["takes"]>> = {
  "application/json": "parameters",
  [formType]: "form",
  "application/offset+octet-stream": "bytes",
};

function readAnswer({ content = {} }: Response, definitions: Document["components"]["schemas"]) {
  const envelope = content["application/json"];
  return {
    ...(envelope !== undefined && { judge: compileSchema(envelope.schema, definitions) }),
    isBytes: envelope === undefined && Object.keys(content).length > 0,
  };
}

/** Finds the operation of a request as the server's router does: literal segments win over parameters. */
export function createResolver(operations: readonly Operation[]) {
  const templates = operations.map((operation) => ({ operation, segments: segmentsOf(operation.path) }));
  return (method: string, path: string): Operation | undefined => {
    const given = segmentsOf(path.split(/[?#]/, 1)[0] ?? "");
    const fitting = templates
      .filter(({ segments }) => segments.length === given.length && segments.every((each, n) => fits(each, given[n])))
      .sort((a, b) => literalsOf(b.segments).localeCompare(literalsOf(a.segments)));
    const best = fitting[0] && literalsOf(fitting[0].segments);
    const there = fitting.filter(({ segments }) => literalsOf(segments) === best);
    const exact = there.find(({ operation }) => operation.method === method);
    if (exact !== undefined) return exact.operation;
    // A path may match without this method; then a less specific path may have it.
    const other = fitting.find(({ operation }) => operation.method === method);
    if (other !== undefined) return other.operation;
    return method === "HEAD" ? fitting.map(({ operation }) => operation).find(isDownload) : undefined;
  };
}

/** Whether it returns bytes, and so also answers HEAD. */
export function isDownload({ method, answers }: Operation): boolean {
  return method === "GET" && answers.get(200)?.isBytes === true;
}

function segmentsOf(path: string): string[] {
  return path.split("/").filter((segment) => segment !== "");
}

function fits(declared: string, given: string | undefined): boolean {
  return declared.startsWith("{") || declared === decoded(given);
}

function decoded(text: string | undefined): string | undefined {
  try {
    return text && decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** `1` for a literal segment, `0` for a parameter. */
function literalsOf(segments: readonly string[]): string {
  return segments.map((segment) => (segment.startsWith("{") ? "0" : "1")).join("");
}

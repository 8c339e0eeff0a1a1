import { compileSchema, type JsonSchema, type Judge } from "./schema.ts";

/** The OpenAPI document, in the form that the fuzzer needs. */

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
  readonly security: readonly Readonly<Record<string, unknown>>[];
  readonly parameters: readonly {
    name: string;
    in: "path" | "query" | "header";
    required: boolean;
    schema: JsonSchema;
  }[];
  readonly requestBody?: { readonly content: Readonly<Record<string, { readonly schema: JsonSchema }>> };
  readonly responses: Readonly<Record<string, Response>>;
}

interface Response {
  readonly description: string;
  readonly content?: Readonly<Record<string, { readonly schema: JsonSchema }>>;
}

export interface Document {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Described>>>>;
  readonly components: { readonly schemas: Readonly<Record<string, JsonSchema>> };
}

export function readOperations({ paths, components }: Document): Operation[] {
  return Object.entries(paths).flatMap(([path, item]) =>
    Object.entries(item).map(([method, described]) => readOperation(method, path, described, components.schemas)),
  );
}

function readOperation(
  method: string,
  path: string,
  { operationId, security, parameters, requestBody, responses }: Described,
  definitions: Document["components"]["schemas"],
): Operation {
  const of = (place: string) =>
    parameters
      .filter((each) => each.in === place)
      .map(({ name, required: isRequired, schema }) => ({ name, isRequired, schema }));
  const [type = "", content] = Object.entries(requestBody?.content ?? {})[0] ?? [];
  const { properties = {}, required = [] } = content?.schema ?? {};
  return {
    id: operationId,
    method: method.toUpperCase() as Method, // the document has no other methods
    path,
    caller: callerOf(security),
    inPath: of("path"),
    inQuery: of("query"),
    inHeaders: of("header").filter((each) => each.name !== keyHeader),
    isKeyed: of("header").some((each) => each.name === keyHeader),
    inBody: Object.entries(properties).map(([name, schema]) => ({ name, isRequired: required.includes(name), schema })),
    takes: bodies[type] ?? "nothing",
    answers: new Map(
      Object.entries(responses).map(([status, response]) => [Number(status), readAnswer(response, definitions)]),
    ),
  };
}

const keyHeader = "Idempotency-Key";

const bodies: Readonly<Record<string, Operation["takes"]>> = {
  "application/json": "parameters",
  "multipart/form-data": "form",
  "application/offset+octet-stream": "bytes",
};

function callerOf([requirement = {}]: Described["security"]): CallerKind {
  const [scheme = "anyone"] = Object.keys(requirement);
  return scheme.replace(/Token$/, "") as CallerKind; // the security schemes are named after the kinds of callers
}

function readAnswer({ description, content = {} }: Response, definitions: Document["components"]["schemas"]) {
  const envelope = content["application/json"];
  return {
    ...(envelope !== undefined && { judge: compileSchema(envelope.schema, definitions) }),
    errors: new Set([...description.matchAll(/^- `(\w+)` (\d+):/gm)].map(([, name, number]) => `${name} ${number}`)),
    isBytes: "*/*" in content,
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

import type { DocumentedOperation, DocumentedParameter, DocumentedSchema, OpenApiDocument } from "../api/openapi.ts";
import type { AppCall } from "./explorer.calls.ts";

/** A parameter of an operation, as a form shows it. */
export interface Field {
  readonly name: string;
  readonly in: "path" | "query" | "header" | "body";
  readonly kind: "text" | "choice" | "flag" | "number" | "json";
  readonly options: readonly string[];
  readonly isRequired: boolean;
  readonly hint: string | undefined;
}

export interface ExplorerOperation {
  readonly id: string;
  readonly method: string;
  readonly path: string;
  readonly tag: string;
  readonly summary: string;
  readonly description: string | undefined;
  readonly caller: "anyone" | "device" | "user";
  readonly errors: readonly string[];
  readonly fields: readonly Field[];
  /** The name of the part with the file, if it takes one. */
  readonly file: string | undefined;
  /** The formats of parameters and of members within them, by their names; each name has one meaning in an operation. */
  readonly formats: Readonly<Record<string, string>>;
}

const methods = ["get", "post", "put", "patch", "delete"];

/** The operations of apps, in the order of the document. Resumable uploads send bytes in parts, which a form cannot. */
export function readOperations(document: OpenApiDocument): ExplorerOperation[] {
  return Object.entries(document.paths)
    .filter(([path]) => !path.startsWith("/_/"))
    .flatMap(([path, operations]) =>
      Object.entries(operations)
        .filter(([method, { tags }]) => methods.includes(method) && !tags.includes("Uploads"))
        .map(([method, operation]) => readOperation(method.toUpperCase(), path, operation, document)),
    );
}

function readOperation(
  method: string,
  path: string,
  operation: DocumentedOperation,
  document: OpenApiDocument,
): ExplorerOperation {
  const { operationId, summary, description, tags, parameters = [], requestBody } = operation;
  const { "application/json": json, "multipart/form-data": form } = requestBody?.content ?? {};
  const parts = Object.entries(resolve(form?.schema ?? {}, document).properties ?? {});
  const [file] = parts.find(([, schema]) => schema.format === "binary") ?? [];
  const body = resolve(json?.schema ?? parts.find(([name]) => name === "body")?.[1] ?? {}, document);
  const caller = operation["x-caller"] ?? "anyone";
  return {
    ...{ id: operationId, method, path, summary, description, file },
    tag: tags[0] ?? "",
    caller: caller === "operator" ? "anyone" : caller,
    errors: errorsOf(operation, document),
    formats: Object.fromEntries([
      ...parameters.flatMap((parameter) => {
        const { name, schema } = document.components.parameters[nameOf(parameter.$ref)] ?? parameter;
        return formatsOf(name, schema, document);
      }),
      ...formatsOf("body", body, document),
    ]),
    fields: [
      // The explorer offers the failures separately.
      ...parameters
        .map((parameter) => readParameter(parameter, document))
        .filter(({ name }) => name !== "Rollcall-Rehearse"),
      ...Object.entries(body.properties ?? {}).map(([name, schema]) =>
        readField(name, "body", body.required?.includes(name) === true, resolve(schema, document)),
      ),
    ],
  };
}

/** All failures of an operation. */
function errorsOf(operation: DocumentedOperation, document: OpenApiDocument): string[] {
  const excluded = operation["x-excluded-errors"] ?? [];
  const ofCaller = document["x-caller-errors"]?.[operation["x-caller"] ?? ""] ?? [];
  return [...(operation["x-errors"] ?? []), ...ofCaller.filter((condition) => !excluded.includes(condition))];
}

function readParameter(given: DocumentedParameter, document: OpenApiDocument): Field {
  const parameter = document.components.parameters[nameOf(given.$ref)] ?? given;
  const { name, required, description } = parameter;
  const schema = resolve(parameter.schema, document);
  return readField(name, parameter.in, required === true, {
    ...schema,
    description: description ?? schema.description,
  });
}

function readField(name: string, place: Field["in"], isRequired: boolean, schema: DocumentedSchema): Field {
  const { enum: options = [], type, description } = schema;
  return { name, in: place, kind: kindOf(type, options), options, isRequired, hint: description?.split("\n\n")[0] };
}

function formatsOf(name: string, given: DocumentedSchema, document: OpenApiDocument): [name: string, format: string][] {
  const { format, items, properties = {} } = resolve(given, document);
  return [
    ...(format === undefined ? [] : [[name, format] satisfies [string, string]]),
    ...(items === undefined ? [] : formatsOf(name, items, document)),
    ...Object.entries(properties).flatMap(([member, schema]) => formatsOf(member, schema, document)),
  ];
}

function kindOf(type: string | undefined, options: readonly string[]): Field["kind"] {
  if (options.length > 0) return "choice";
  if (type === "boolean") return "flag";
  if (type === "integer" || type === "number") return "number";
  return type === "string" ? "text" : "json";
}

function resolve(schema: DocumentedSchema, document: OpenApiDocument): DocumentedSchema {
  const named = document.components.schemas[nameOf(schema.$ref)];
  if (named === undefined) return schema;
  const { $ref: _, ...own } = schema;
  return resolve({ ...named, ...own }, document);
}

function nameOf(reference: string | undefined): string {
  return reference?.split("/").at(-1) ?? "";
}

/** The operator's input by field name; empty strings are not sent. */
export type FieldValues = Readonly<Record<string, string>>;

interface Filled {
  readonly values: FieldValues;
  /** The body as JSON, in place of the fields of the body. */
  readonly json: string | undefined;
  readonly file: File | undefined;
}

/** The call of an operation, without the header Authorization. */
export function callOf(operation: ExplorerOperation, { values, json, file }: Filled): AppCall {
  const given = operation.fields.filter(({ name }) => (values[name] ?? "") !== "");
  const path = operation.path.replaceAll(/\{(\w+)\}/g, (hole, name: string) =>
    values[name] === undefined || values[name] === "" ? hole : encodeURIComponent(values[name]),
  );
  const query = new URLSearchParams(
    given.filter((field) => field.in === "query").map(({ name }) => [name, values[name] ?? ""]),
  );
  const headers = Object.fromEntries(
    given.filter((field) => field.in === "header").map(({ name }) => [name, values[name] ?? ""]),
  );
  const body = hasBody(operation) ? (json ?? jsonOf(operation, values)) : undefined;
  const isForm = operation.file !== undefined;
  return {
    method: operation.method,
    path: query.size === 0 ? path : `${path}?${query}`,
    headers: { ...headers, ...(body !== undefined && !isForm && { "Content-Type": "application/json" }) },
    body: isForm ? formOf(operation.file ?? "", file, body) : body,
  };
}

export function hasBody({ method, fields, file }: ExplorerOperation): boolean {
  return file !== undefined || (method !== "GET" && fields.some((field) => field.in === "body"));
}

/** The fields of the body as JSON, to read and to change. */
export function jsonOf({ fields }: ExplorerOperation, values: FieldValues): string {
  const given = fields.filter((field) => field.in === "body" && (values[field.name] ?? "") !== "");
  return JSON.stringify(
    Object.fromEntries(given.map((field) => [field.name, readValue(field, values[field.name] ?? "")])),
    undefined,
    2,
  );
}

/** An invalid number or invalid JSON is sent unchanged, so that the operator sees the refusal. */
export function readValue({ kind }: Field, text: string): unknown {
  if (kind === "text" || kind === "choice") return text;
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

function formOf(name: string, file: File | undefined, body: string | undefined): FormData {
  const form = new FormData();
  if (body !== undefined && body !== "{}") form.append("body", body);
  if (file !== undefined) form.append(name, file);
  return form;
}

/** The values of the path of a call that was answered. */
export function valuesOfPath(pattern: string, path: string): FieldValues {
  const wanted = pattern.split("/");
  const given = path.split("/");
  return Object.fromEntries(
    wanted.flatMap((part, index) => {
      const [, name] = /^\{(\w+)\}$/.exec(part) ?? [];
      return name === undefined ? [] : [[name, decode(given[index] ?? "")]];
    }),
  );
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text; // cut in the middle of a character
  }
}

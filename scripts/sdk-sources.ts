import { type ApiParameter, type ApiSchema, renderComment } from "./sdk-schema.ts";
import { SdkTypes } from "./sdk-types.ts";

/** The parts of an OpenAPI document that the client is generated from. */
export interface OpenApiDocument {
  readonly paths: Readonly<Record<string, Readonly<Record<string, ApiOperation>>>>;
  readonly components: {
    readonly schemas: Readonly<Record<string, ApiSchema>>;
    readonly parameters: Readonly<Record<string, ApiParameter>>;
  };
  /** The failures of every operation of a kind of caller, except for its `x-excluded-errors`. */
  readonly "x-caller-errors": Readonly<Record<string, readonly string[]>>;
  readonly "x-error-catalogue": readonly {
    readonly condition: string;
    readonly name: string;
    readonly status: number;
    readonly when: string;
    readonly remedy: string;
  }[];
}

interface ApiOperation {
  readonly operationId: string;
  readonly summary: string;
  readonly description?: string;
  readonly "x-caller": string;
  readonly "x-errors": readonly string[];
  readonly "x-excluded-errors"?: readonly string[];
  /** Absent of operators' operations. */
  readonly "x-batchable"?: boolean;
  readonly "x-idempotent"?: boolean;
  readonly parameters?: readonly (ApiParameter | ApiReference)[];
  readonly requestBody?: { readonly content: ApiContent };
  readonly responses: Readonly<Record<string, { readonly content?: ApiContent }>>;
}

type ApiContent = Readonly<Record<string, { readonly schema: ApiSchema }>>;

interface ApiReference {
  readonly $ref: string;
}

interface NamedOperation extends ApiOperation {
  readonly path: string;
  readonly method: string;
}

const header = '// Written by "npm run docs" from docs/openapi.json.\n';
const operatorsHeader = '// Written by "npm run docs" from docs/openapi.operators.json.\n';
const folder = "sdk/src/generated";

/** The generated sources of the client, by their path from the root, from the documents for clients and for operators. */
export function renderSdkSources(
  forClients: OpenApiDocument,
  forOperators: OpenApiDocument,
): Readonly<Record<string, string>> {
  const ofApps = listOperations(forClients);
  // A component of both documents is the same in both.
  const types = new SdkTypes({ ...forClients.components.schemas, ...forOperators.components.schemas });
  const calls = ofApps.map((operation) => renderCall(operation, forClients, types));
  const shared = types.take();
  const dates = [...types.dateMembers].sort();
  const adminCalls = listOperations(forOperators).map((operation) => ({
    isOfSession: operation.path.startsWith("/_/api/sessions"),
    text: renderCall(operation, forOperators, types),
  }));
  const ofAdmin = types.take();
  const sessionCalls = adminCalls.filter(({ isOfSession }) => isOfSession).map(({ text }) => text);
  const otherCalls = adminCalls.filter(({ isOfSession }) => !isOfSession).map(({ text }) => text);
  return {
    [`${folder}/types.ts`]: `${header}import type { Source } from "../wire/source.ts";
import type { Box, DateRange, Near, Place } from "../wire/values.ts";

${shared.declarations}`,
    [`${folder}/calls.ts`]: `${header}import type { BatchableCall, Call } from "../wire/call.ts";
import { define } from "../wire/define.ts";
import type { Download } from "../wire/download.ts";
import type { ${shared.names.filter((name) => isUsed(name, calls)).join(", ")} } from "./types.ts";

${calls.join("\n")}`,
    [`${folder}/admin.ts`]: `${operatorsHeader}import type { Call } from "../wire/call.ts";
import { define } from "../wire/define.ts";
import type { Download } from "../wire/download.ts";
import type { Box, DateRange, Near, Place } from "../wire/values.ts";
import type { ${shared.names.filter((name) => isUsed(name, [ofAdmin.declarations, ...otherCalls])).join(", ")} } from "./types.ts";

${ofAdmin.declarations}
${otherCalls.join("\n")}`,
    // A file of its own: a page that asks for the session first loads no other calls.
    [`${folder}/operator-sessions.ts`]: `${operatorsHeader}import type { Call } from "../wire/call.ts";
import { define } from "../wire/define.ts";
import type { ${ofAdmin.names.filter((name) => isUsed(name, sessionCalls)).join(", ")} } from "./admin.ts";

${sessionCalls.join("\n")}`,
    [`${folder}/dates.ts`]: `${header}/** The members of results that are dates. */
export const dateMembers: ReadonlySet<string> = ${renderSet(dates)};
`,
    // A file of its own: no bundler drops a set from the file of another.
    [`${folder}/operator-dates.ts`]: `${operatorsHeader}/** The members of results for operators that are dates, beside those of the application API. */
export const operatorDateMembers: ReadonlySet<string> = ${renderSet([...types.dateMembers].sort().filter((name) => !dates.includes(name)))};
`,
    [`${folder}/errors.ts`]: renderErrors(forClients),
    [`${folder}/rehearsals.ts`]: renderRehearsals(ofApps, forClients),
  };
}

function renderSet(names: readonly string[]): string {
  return `/* @__PURE__ */ new Set(
  ${JSON.stringify(names.join(" "))}.split(" "),
)`;
}

/** The operations that the client calls: not those that describe the process, and not those of the tus protocol. */
function listOperations(document: OpenApiDocument): NamedOperation[] {
  return Object.entries(document.paths)
    .filter(([path]) => !/^\/_\/(?!api\/)|^\/files\//.test(path))
    .flatMap(([path, methods]) =>
      Object.entries(methods).map(([method, operation]) => ({ ...operation, path, method: method.toUpperCase() })),
    );
}

function renderCall(operation: NamedOperation, document: OpenApiDocument, types: SdkTypes): string {
  const { operationId, path, method } = operation;
  const parameters = (operation.parameters ?? []).map((parameter) =>
    "$ref" in parameter ? resolveParameter(parameter, document) : parameter,
  );
  const ids = [...path.matchAll(/\{(\w+)\}/g)].map((match) => `${match[1]}: string`);
  const fields = fieldsOf(operation, parameters, types);
  const isOptional = fields !== undefined && !types.hasRequired(fields);
  const args = [...ids, ...(fields === undefined ? [] : [`fields${isOptional ? "?" : ""}: ${fields}`])].join(", ");
  const flags = flagsOf(operation);
  const definition = [operationId, `${method} ${path}`, ...(flags === "" ? [] : [flags])];
  return `${renderComment([operation.summary, operation.description])}export const ${operationId}: (${args}) => ${operation["x-batchable"] ? "BatchableCall" : "Call"}<${resultOf(operation, types)}> = /* @__PURE__ */ define(${definition.map((text) => JSON.stringify(text)).join(", ")});
`;
}

/** The name of the type of all parameters that are not in the path. */
function fieldsOf(operation: NamedOperation, parameters: readonly ApiParameter[], types: SdkTypes): string | undefined {
  const { operationId, requestBody } = operation;
  const schema = Object.values(requestBody?.content ?? {})[0]?.schema;
  if (schema !== undefined) return types.use(schema, "in");
  const query = parameters.filter((parameter) => parameter.in === "query");
  const ofSignature = /\/file$/.test(operation.path) ? ["application", "expires", "signature"] : [];
  const own = query.filter(({ name }) => !ofSignature.includes(name));
  if (own.length === 0) return undefined;
  return types.declareQuery(`${operationId.charAt(0).toUpperCase()}${operationId.slice(1)}Query`, operationId, own);
}

/** The differences between an operation and one of a user that can be in a batch and accepts a key if it is no read. */
function flagsOf(operation: NamedOperation): string {
  const { operationId, method } = operation;
  const isRead = method === "GET";
  return [
    { user: "", device: "d", operator: "o", anyone: "a" }[operation["x-caller"]],
    !isRead && !operation["x-idempotent"] && "p",
    !operation["x-batchable"] && "s",
    operationId === "registerDevice" && "r",
    operation.requestBody?.content["multipart/form-data"] && "f",
    isDownload(operation) && "b",
  ]
    .filter(Boolean)
    .join("");
}

function isDownload({ responses }: NamedOperation): boolean {
  const content = responses["200"]?.content;
  return content !== undefined && !("application/json" in content);
}

function resultOf(operation: NamedOperation, types: SdkTypes): string {
  if (isDownload(operation)) return "Download";
  const { responses } = operation;
  const schema = (responses["200"] ?? responses["201"])?.content?.["application/json"]?.schema;
  if (schema === undefined) throw new Error(`${operation.operationId} has no result`);
  const result = types.resolve(schema).properties?.["result"] ?? {};
  return result.type === "boolean" ? "void" : types.use(result, "out");
}

function resolveParameter({ $ref }: ApiReference, { components }: OpenApiDocument): ApiParameter {
  const parameter = components.parameters[$ref.split("/").slice(3).join("/")];
  if (parameter === undefined) throw new Error(`${$ref} is not in the document`);
  return parameter;
}

function renderErrors(document: OpenApiDocument): string {
  const names = [...new Set(document["x-error-catalogue"].map(({ name }) => name))].sort();
  const classes = names.map((name) => {
    const rows = document["x-error-catalogue"].filter((row) => row.name === name);
    const lines = rows.map(({ status, when, remedy }) => `${status}: ${when} What to do: ${remedy}.`);
    return `${renderComment([[...new Set(lines)].join("\n")])}export const ${name}: ServiceErrorClass<"${name}"> = /* @__PURE__ */ nameClass("${name}");
export type ${name} = NamedServiceError<"${name}">;
`;
  });
  return `${header}import { type NamedServiceError, nameClass, type ServiceErrorClass } from "../wire/error-classes.ts";

/** The names of the errors of the service. */
export type ServiceErrorName =
${names.map((name) => `  | "${name}"`).join("\n")};

${classes.join("\n")}`;
}

/** Calls without a caller cannot be rehearsed, except for registrations, which bring credentials. */
function renderRehearsals(operations: readonly NamedOperation[], document: OpenApiDocument): string {
  const rehearsed = operations
    .filter((operation) => operation["x-caller"] !== "anyone" || operation.operationId === "registerDevice")
    .map((operation) => ({ ...operation, conditions: conditionsOf(operation, document) }));
  const shared = (rehearsed[0]?.conditions ?? []).filter((condition) =>
    rehearsed.every(({ conditions }) => conditions.includes(condition)),
  );
  const union = (conditions: readonly string[]) => conditions.map((condition) => `"${condition}"`).join(" | ");
  const members = rehearsed.map(({ operationId, conditions }) => {
    const own = conditions.filter((condition) => !shared.includes(condition));
    return `  readonly ${operationId}: ${["Shared", ...(own.length > 0 ? [union(own)] : [])].join(" | ")};`;
  });
  return `${header}type Shared = ${union(shared)};

/** The conditions of each operation: the errors with which the service may answer it. */
export interface OperationConditions {
${members.join("\n")}
}
`;
}

/** All failures of an operation. */
export function conditionsOf(
  operation: Pick<ApiOperation, "x-caller" | "x-errors" | "x-excluded-errors">,
  document: Pick<OpenApiDocument, "x-caller-errors">,
): string[] {
  const excluded = operation["x-excluded-errors"] ?? [];
  const ofCaller = document["x-caller-errors"][operation["x-caller"]] ?? [];
  return [...operation["x-errors"], ...ofCaller.filter((condition) => !excluded.includes(condition))];
}

function isUsed(name: string, texts: readonly string[]): boolean {
  const word = new RegExp(`\\b${name}\\b`);
  return texts.some((text) => word.test(text.replaceAll(/\/\*\*.*?\*\//gs, "").replaceAll(/"[^"\n]*"/g, "")));
}

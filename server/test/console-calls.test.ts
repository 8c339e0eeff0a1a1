import assert from "node:assert/strict";
import { globSync, readFileSync } from "node:fs";
import path from "node:path";
import { describe, test } from "node:test";

const root = path.resolve(import.meta.dirname, "../..");

/** The calls that `operation` of console/src/api/call.ts creates. */
interface ConsoleCall {
  readonly method: string;
  readonly path: string;
  readonly parameters: readonly string[];
}

interface Parameter {
  readonly $ref?: string;
  readonly name?: string;
  readonly in?: string;
}

interface DocumentedOperation {
  readonly parameters?: readonly Parameter[];
  readonly requestBody?: { readonly content: Record<string, { readonly schema: BodySchema }> };
}

interface BodySchema {
  readonly $ref?: string;
  readonly properties?: object;
}

interface OpenApi {
  readonly paths: Record<string, Record<string, DocumentedOperation>>;
  readonly components: {
    readonly parameters: Record<string, Parameter>;
    readonly schemas: Record<string, BodySchema>;
  };
}

describe("calls of the console", () => {
  const document: OpenApi = JSON.parse(readFileSync(path.join(root, "docs/openapi.operators.json"), "utf8"));

  test("each is an operation of the API, with parameters that it has", async () => {
    const calls = await readCalls();
    assert.ok(calls.length > 0);
    for (const [name, { method, path, parameters }] of calls) {
      const operation = document.paths[`/_/api${path}`]?.[method.toLowerCase()];
      assert.ok(operation, `${name}: ${method} ${path} is in docs/openapi.operators.json`);
      const known = new Set(namesOf(operation, document));
      const unknown = parameters.filter((parameter) => !known.has(parameter));
      assert.deepEqual(unknown, [], `${name}: parameters that the operation does not have`);
      const inPath = [...path.matchAll(/\{(\w+)\}/g)].map((match) => match[1] ?? "");
      assert.deepEqual(new Set(inPath).difference(new Set(parameters)), new Set(), `${name}: parameters of the path`);
    }
  });
});

function namesOf({ parameters = [], requestBody }: DocumentedOperation, { components }: OpenApi): string[] {
  const resolved = parameters.map((parameter) => components.parameters[nameOfReference(parameter)] ?? parameter);
  const schema = requestBody?.content["application/json"]?.schema ?? {};
  const { properties = {} } = components.schemas[nameOfReference(schema)] ?? schema;
  return [...resolved.flatMap(({ name }) => name ?? []), ...Object.keys(properties)];
}

function nameOfReference({ $ref = "" }: { readonly $ref?: string }): string {
  return $ref.slice($ref.lastIndexOf("/") + 1);
}

/** Imported by a computed path, because the console is typed with the DOM and the server is not. */
async function readCalls(): Promise<[name: string, call: ConsoleCall][]> {
  const calls: [string, ConsoleCall][] = [];
  for (const file of globSync("console/src/api/*.ts", { cwd: root }).sort()) {
    if (readFileSync(path.join(root, file), "utf8").includes("operation<")) {
      const exports: Record<string, unknown> = await import(path.join(root, file));
      for (const [name, value] of Object.entries(exports)) if (isCall(value)) calls.push([name, value]);
    }
  }
  return calls;
}

function isCall(value: unknown): value is ConsoleCall {
  return typeof value === "function" && "method" in value && "path" in value && "parameters" in value;
}

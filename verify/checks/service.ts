import { gzipSync } from "node:zlib";
import { group, type It } from "../check.ts";
import type { Answer } from "../client.ts";
import { expectEqual, expectThat, isObject } from "../expect.ts";
import { openapi, openapiOfOperators, operationsOf, verbs } from "../openapi.ts";
import { tokenOperations } from "../operations.ts";
import type { World } from "../world.ts";

const documented = [...tokenOperations, "POST /devices", "GET /service/ping"];
/** What the checks read of an operation, a parameter or a tag. */
interface Described {
  readonly $ref?: string;
  readonly operationId?: string;
  readonly name?: string;
  readonly description?: string;
  readonly parameters?: readonly Described[];
  readonly "x-errors"?: readonly string[];
  readonly "x-excluded-errors"?: readonly string[];
}

/** Every `$ref` below. */
function referencesIn(value: unknown): string[] {
  if (Array.isArray(value)) return value.flatMap(referencesIn);
  if (!isObject(value)) return [];
  const own = typeof value["$ref"] === "string" ? [value["$ref"]] : [];
  return [...own, ...Object.values(value).flatMap(referencesIn)];
}

function resolve(document: unknown, reference: string): unknown {
  return reference
    .slice(2)
    .split("/")
    .map((part) => part.replaceAll("~1", "/").replaceAll("~0", "~"))
    .reduce<unknown>((value, part) => (isObject(value) ? value[part] : undefined), document);
}

/** The promises of an OpenAPI document. */
function checkDocument(it: It, path: string, document: (world: World) => Promise<Answer>): void {
  it(`spec/transport#openapi · GET ${path}: an OpenAPI 3.1 document`, async (world) => {
    const answer = await document(world);
    const { openapi: version, info } = answer.body;
    expectThat(answer, /^3\.1\.\d+$/.test(version), "openapi 3.1");
    expectThat(answer, typeof info?.title === "string" && typeof info?.version === "string", "title and version");
  });
  it(`spec/transport#openapi · GET ${path}: every operation has a unique id and its responses`, async (world) => {
    const answer = await document(world);
    const items = Object.values<Record<string, { operationId?: string; responses?: object }>>(answer.body.paths);
    const operations = items.flatMap((item) => verbs.flatMap((verb) => item[verb] ?? []));
    const ids = operations.map(({ operationId }) => operationId);
    expectThat(answer, !ids.includes(undefined) && new Set(ids).size === ids.length, "an operationId for each");
    const isAnswered = operations.every(({ responses }) => Object.keys(responses ?? {}).length > 0);
    expectThat(answer, isAnswered, "responses for each");
  });
  it(`spec/transport#openapi · GET ${path}: at most 2,030 bytes for each operation, and 300 with gzip`, async (world) => {
    const answer = await document(world);
    const operations = operationsOf(answer.body).length;
    const bytes = Buffer.from(JSON.stringify(answer.body));
    const [plain, compressed] = [bytes, gzipSync(bytes)].map(({ length }) => Math.ceil(length / operations));
    expectThat(answer, Number(plain) <= 2_030, `2,030 bytes, not ${plain}`);
    expectThat(answer, Number(compressed) <= 300, `300 bytes with gzip, not ${compressed}`);
  });
  it(`spec/transport#openapi · GET ${path}: describes every operation, parameter and tag`, async (world) => {
    const answer = await document(world);
    const { paths, tags, components } = answer.body;
    const items = Object.entries<Record<string, Described>>(paths);
    const operations = items.flatMap(([, item]) => verbs.flatMap((verb) => item[verb] ?? []));
    const parameters = operations.flatMap((operation) => operation.parameters ?? []).filter((each) => !each.$ref);
    const all = [...operations, ...parameters, ...tags, ...Object.values<Described>(components.parameters)];
    const lacking = all.filter(({ description }) => !description);
    const found = lacking.map(({ operationId, name }) => operationId ?? name);
    expectEqual(answer, "without a description", found, []);
  });
  it(`spec/transport#openapi · GET ${path}: every condition of an operation is in the catalogue`, async (world) => {
    const answer = await document(world);
    const { paths, "x-caller-errors": ofCallers, "x-error-catalogue": catalogue } = answer.body;
    const known = new Set(catalogue.map(({ condition }: { condition: string }) => condition));
    const items = Object.values<Record<string, Described>>(paths);
    const operations = items.flatMap((item) => verbs.flatMap((verb) => item[verb] ?? []));
    const own = operations.flatMap((each) => [...(each["x-errors"] ?? []), ...(each["x-excluded-errors"] ?? [])]);
    const unknown = [...own, ...Object.values<string[]>(ofCallers).flat()].filter((each) => !known.has(each));
    expectEqual(answer, "unknown conditions", unknown, []);
    expectThat(
      answer,
      operations.every((each) => each["x-errors"] !== undefined),
      "x-errors for each operation",
    );
  });
  it(`spec/transport#openapi · GET ${path}: every reference resolves`, async (world) => {
    const answer = await document(world);
    const lost = referencesIn(answer.body).filter((reference) => resolve(answer.body, reference) === undefined);
    expectEqual(answer, "unresolved references", lost, []);
  });
  it(`spec/transport#openapi · GET ${path}: every described operation exists`, async (world) => {
    for (const operation of operationsOf((await document(world)).body)) {
      const filled = operation.replaceAll(/\{\w+\}/g, "verify");
      // Without a token, so that the call has no effect.
      const answer = await world.call(filled, operation.startsWith("GET") ? {} : { body: {} });
      expectThat(answer, answer.body?.error !== "OperationNotFound", `something at ${operation}`);
    }
  });
}

/** The pages of the service under /_/ (spec/transport#service-pages). */
export const service = group("service", (it) => {
  for (const kind of ["live", "ready"])
    it(`spec/transport#health · GET /_/health/${kind}: 200 while the service serves requests`, async ({ call }) => {
      const answer = await call(`GET /_/health/${kind}`);
      expectEqual(answer, "status", answer.status, 200);
    });
  for (const operation of documented)
    it(`spec/transport#openapi · GET /_/openapi.json: describes ${operation}`, async (world) => {
      const answer = await openapi(world);
      const anyName = (text: string) => text.replaceAll(/\{\w+\}/g, "{}");
      const described = operationsOf(answer.body).map(anyName);
      expectThat(answer, described.includes(anyName(operation)), operation);
    });
  checkDocument(it, "/_/openapi.json", openapi);
  checkDocument(it, "/_/openapi.operators.json", openapiOfOperators);
  it("spec/transport#openapi · GET /_/docs: a page that loads everything from the service itself", async (world) => {
    const moved = await world.call("GET /_/docs");
    const { location } = moved.headers;
    const path =
      moved.status >= 300 && location !== undefined ? new URL(location, "http://x/_/docs").pathname : "/_/docs";
    const answer = await world.call(`GET ${path}`);
    expectEqual(answer, "status", answer.status, 200);
    expectThat(answer, String(answer.headers["content-type"]).startsWith("text/html"), "an HTML page");
    const loaded = answer.text.matchAll(/<(?:script|img|iframe|link)\b[^>]*?\b(?:src|href)="([^"]+)"/gi);
    for (const [, reference = ""] of loaded) {
      if (reference.startsWith("data:")) continue;
      const url = new URL(reference, `http://x${path}`);
      expectThat(answer, url.host === "x", `no third-party resource such as ${reference}`);
      const part = await world.call(`GET ${url.pathname}`);
      expectEqual(part, `status of ${reference}`, part.status, 200);
    }
  });
});

import { gzipSync } from "node:zlib";
import { each, type Group } from "../check.ts";
import { expectEqual, expectThat, isObject } from "../expect.ts";
import { openapi, operationsOf, verbs } from "../openapi.ts";
import { tokenOperations } from "../operations.ts";

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

/** The pages of the service under /_/ (spec/transport#service-pages). */
export const service: Group = {
  name: "service",
  checks: {
    ...each(
      ["live", "ready"],
      (kind) => `spec/transport#health · GET /_/health/${kind}: 200 while the service serves requests`,
      async ({ call }, kind) => {
        const answer = await call(`GET /_/health/${kind}`);
        expectEqual(answer, "status", answer.status, 200);
      },
    ),
    "spec/transport#openapi · GET /_/openapi.json: an OpenAPI 3.1 document": async (world) => {
      const answer = await openapi(world);
      const { openapi: version, info } = answer.body;
      expectThat(answer, /^3\.1\.\d+$/.test(version), "openapi 3.1");
      expectThat(answer, typeof info?.title === "string" && typeof info?.version === "string", "title and version");
    },
    ...each(
      documented,
      (operation) => `spec/transport#openapi · GET /_/openapi.json: describes ${operation}`,
      async (world, operation) => {
        const answer = await openapi(world);
        const anyName = (text: string) => text.replaceAll(/\{\w+\}/g, "{}");
        const described = operationsOf(answer.body).map(anyName);
        expectThat(answer, described.includes(anyName(operation)), operation);
      },
    ),
    "spec/transport#openapi · GET /_/openapi.json: every operation has a unique id and its responses": async (
      world,
    ) => {
      const answer = await openapi(world);
      const items = Object.values<Record<string, { operationId?: string; responses?: object }>>(answer.body.paths);
      const operations = items.flatMap((item) => verbs.flatMap((verb) => item[verb] ?? []));
      const ids = operations.map(({ operationId }) => operationId);
      expectThat(answer, !ids.includes(undefined) && new Set(ids).size === ids.length, "an operationId for each");
      const isAnswered = operations.every(({ responses }) => Object.keys(responses ?? {}).length > 0);
      expectThat(answer, isAnswered, "responses for each");
    },
    "spec/transport#openapi · GET /_/openapi.json: at most 350 kB, and 45 kB with gzip": async (world) => {
      const answer = await openapi(world);
      const bytes = Buffer.from(JSON.stringify(answer.body));
      expectThat(answer, bytes.length <= 350_000, `350 kB, not ${bytes.length} bytes`);
      expectThat(answer, gzipSync(bytes).length <= 45_000, `45 kB with gzip, not ${gzipSync(bytes).length} bytes`);
    },
    "spec/transport#openapi · GET /_/openapi.json: describes every operation, parameter and tag": async (world) => {
      const answer = await openapi(world);
      const { paths, tags, components } = answer.body;
      const items = Object.entries<Record<string, Described>>(paths);
      const operations = items.flatMap(([, item]) => verbs.flatMap((verb) => item[verb] ?? []));
      const parameters = operations.flatMap((operation) => operation.parameters ?? []).filter((each) => !each.$ref);
      const all = [...operations, ...parameters, ...tags, ...Object.values<Described>(components.parameters)];
      const lacking = all.filter(({ description }) => !description);
      expectEqual(
        answer,
        "without a description",
        lacking.map(({ operationId, name }) => operationId ?? name),
        [],
      );
    },
    "spec/transport#openapi · GET /_/openapi.json: every condition of an operation is in the catalogue": async (
      world,
    ) => {
      const answer = await openapi(world);
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
    },
    "spec/transport#openapi · GET /_/openapi.json: every reference resolves": async (world) => {
      const answer = await openapi(world);
      const lost = referencesIn(answer.body).filter((reference) => resolve(answer.body, reference) === undefined);
      expectEqual(answer, "unresolved references", lost, []);
    },
    "spec/transport#openapi · GET /_/openapi.json: every described operation exists": async (world) => {
      for (const operation of operationsOf((await openapi(world)).body)) {
        const path = operation.replaceAll(/\{\w+\}/g, "verify");
        // Without a token, so that the call has no effect.
        const answer = await world.call(path, operation.startsWith("GET") ? {} : { body: {} });
        expectThat(answer, answer.body?.error !== "OperationNotFound", `something at ${operation}`);
      }
    },
    "spec/transport#openapi · GET /_/docs: a page that loads everything from the service itself": async (world) => {
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
    },
  },
};

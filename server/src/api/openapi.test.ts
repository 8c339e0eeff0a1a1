// Runs on one engine: it tests pages and documents, which no statement reads.
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { Validator } from "@seriousme/openapi-schema-validator";
import { startTestApp, type TestApp } from "../../test/harness.ts";
import { conditionsOf, takesIdempotencyKey } from "../contract/route.ts";
import { errorRow } from "../errors.ts";

interface Operation {
  readonly operationId: string;
  readonly security: readonly Record<string, unknown>[];
  readonly parameters: readonly { readonly name: string; readonly in: string; readonly required: boolean }[];
  readonly requestBody?: { readonly content: Record<string, { readonly schema: { readonly properties: object } }> };
  readonly responses: Record<string, { readonly description: string }>;
}

let test: TestApp;
let document: { openapi: string; servers: unknown; paths: Record<string, Record<string, Operation>> };
before(async () => {
  test = await startTestApp({ PUBLIC_URL: "https://api.example.org/" });
  document = (await test.call("GET /_/openapi.json")).body;
});
after(() => test.close());

function operations(): { method: string; path: string; operation: Operation }[] {
  return Object.entries(document.paths).flatMap(([path, item]) =>
    Object.entries(item).map(([method, operation]) => ({ method: method.toUpperCase(), path, operation })),
  );
}

// spec/transport#openapi
describe("/_/openapi.json", () => {
  it("is served as application/json without a token", async () => {
    const { status, headers } = await test.call("GET /_/openapi.json");
    assert.deepEqual([status, headers["content-type"]], [200, "application/json"]);
  });

  it("is valid OpenAPI 3.1", async () => {
    const validation = await new Validator().validate(JSON.parse(JSON.stringify(document)));
    assert.deepEqual(validation, { valid: true });
    assert.match(document.openapi, /^3\.1\./);
    assert.deepEqual(document.servers, [{ url: "https://api.example.org" }]);
  });

  it("contains exactly the declared operations", () => {
    const described = operations().map(({ method, path, operation }) => `${operation.operationId} ${method} ${path}`);
    const { routes, endpoints } = test.app;
    const all = [...routes, ...endpoints.flatMap((endpoint) => endpoint.operations)];
    const declared = all.map(({ method, path, operation }) => `${operation} ${method} ${path}`);
    assert.deepEqual(described.sort(), declared.sort());
    assert.equal(new Set(operations().map(({ operation }) => operation.operationId)).size, described.length);
  });

  it("describes the caller, the input and all responses of each operation", () => {
    for (const route of test.app.routes) {
      const operation = document.paths[route.path]?.[route.method.toLowerCase()];
      assert.ok(operation);
      const schemes = operation.security.flatMap((requirement) => Object.keys(requirement));
      assert.deepEqual(
        schemes,
        { anyone: [], device: ["deviceToken"], user: ["userToken"], operator: ["operatorToken"] }[route.caller],
      );

      const inPath = operation.parameters.filter((parameter) => parameter.in === "path");
      const braces = [...route.path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name);
      assert.deepEqual(
        inPath.map(({ name }) => name),
        braces,
      );
      assert.ok(inPath.every(({ required }) => required));

      const inHeaders = operation.parameters.filter((parameter) => parameter.in === "header").map(({ name }) => name);
      assert.deepEqual(inHeaders, takesIdempotencyKey(route) ? ["Idempotency-Key"] : []);

      const names = Object.keys(route.parameters?.properties ?? {});
      const inQuery = operation.parameters.filter((parameter) => parameter.in === "query").map(({ name }) => name);
      const bodies = Object.values(operation.requestBody?.content ?? {});
      if (route.method === "GET" || route.method === "DELETE") assert.deepEqual(inQuery, names);
      const parts = route.upload === undefined ? names : ["data", ...names];
      for (const { schema } of bodies) assert.deepEqual(Object.keys(schema.properties), parts);
      const mayHaveBody = route.method !== "GET" && route.method !== "DELETE" && route.parameters !== undefined;
      assert.equal(inQuery.length + bodies.length > 0, names.length > 0 || mayHaveBody);

      const conditions = conditionsOf(route);
      const created = route.mayCreate ? [201] : [];
      const forwarded = route.download === undefined ? [] : [302];
      const sentInParts = conditions.includes("RangeOutsideFile") ? [206, 304] : [];
      const statuses = new Set([
        route.status,
        ...created,
        ...sentInParts,
        ...forwarded,
        ...conditions.map((condition) => errorRow(condition).status),
      ]);
      assert.deepEqual(Object.keys(operation.responses).map(Number), [...statuses].sort());
      for (const condition of conditions) {
        const { status, error, errorNumber } = errorRow(condition);
        assert.ok(operation.responses[status]?.description.includes(`\`${error}\` ${errorNumber}`));
      }
    }
  });

  it("describes the headers and all responses of resumable uploads", () => {
    const described = test.app.endpoints.flatMap((endpoint) => endpoint.operations);
    assert.ok(described.length > 0);
    for (const { method, path, status, requestHeaders, errors } of described) {
      const operation = document.paths[path]?.[method.toLowerCase()];
      assert.deepEqual(operation?.security, [{ userToken: [] }]);
      const headers = operation.parameters.filter((parameter) => parameter.in === "header");
      assert.deepEqual(
        headers.map(({ name, required }) => [name, required]),
        Object.entries(requestHeaders).map(([name, { isRequired }]) => [name, isRequired]),
      );
      const statuses = new Set([status, ...errors.map((condition) => errorRow(condition).status)]);
      assert.deepEqual(Object.keys(operation.responses).map(Number), [...statuses].sort());
    }
  });

  it("contains none of our internal keywords", () => {
    const words: string[] = [];
    JSON.stringify(document, (name, value) => {
      if (name.startsWith("x-")) words.push(name);
      return value;
    });
    assert.deepEqual(words, []);
  });
});

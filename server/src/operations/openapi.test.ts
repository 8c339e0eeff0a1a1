// Runs on one engine: pages and documents come from no statement.
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { gzipSync } from "node:zlib";
import { Validator } from "@seriousme/openapi-schema-validator";
import { startTestApp, type TestApp } from "../../test/harness.ts";
import { conditionsOf, roleOf, takesIdempotencyKey } from "../contract/route.ts";
import { errorCatalogue, errorRow } from "../lib/errors.ts";

interface Operation {
  readonly operationId: string;
  readonly summary: string;
  readonly description: string;
  /** The security of the document if absent. */
  readonly security?: readonly Record<string, unknown>[];
  readonly parameters?: readonly (Parameter | Reference)[];
  readonly requestBody?: { readonly content: Record<string, { readonly schema: Schema | Reference }> };
  readonly responses: Record<string, object>;
  readonly "x-caller": string;
  readonly "x-role"?: string;
  readonly "x-batchable"?: boolean;
  readonly "x-idempotent"?: boolean;
  readonly "x-errors": readonly string[];
  readonly "x-excluded-errors"?: readonly string[];
}

interface Parameter {
  readonly name: string;
  readonly in: string;
  readonly required?: boolean;
  readonly description?: string;
  readonly schema: unknown;
}

interface Schema {
  readonly properties?: Readonly<Record<string, Schema | Reference>>;
  readonly enum?: readonly string[];
  readonly items?: Schema | Reference;
  readonly allOf?: readonly (Schema | Reference)[];
  readonly description?: string;
}

interface Reference {
  readonly $ref: string;
}

interface Document {
  readonly openapi: string;
  readonly tags: readonly { readonly name: string; readonly description?: string }[];
  readonly servers: unknown;
  readonly security: readonly Record<string, unknown>[];
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components: {
    readonly schemas: Readonly<Record<string, Schema>>;
    readonly parameters: Readonly<Record<string, Parameter>>;
    readonly responses: Readonly<Record<string, { readonly description: string; readonly content: unknown }>>;
    readonly securitySchemes: Readonly<Record<string, unknown>>;
  };
  readonly "x-error-catalogue": readonly { readonly condition: string }[];
  readonly "x-caller-errors": Readonly<Record<string, readonly string[]>>;
}

const paths = { clients: "/_/openapi.json", operators: "/_/openapi.operators.json" } as const;
let test: TestApp;
let documents: Record<keyof typeof paths, Document>;
before(async () => {
  test = await startTestApp({
    PUBLIC_URL: "https://api.example.org/",
    PAGE_ITEMS_DEFAULT: "20",
    PAGE_ITEMS_MAX: "40",
    BATCH_ITEMS_MAX: "7",
  });
  const [clients, operators] = [await test.call(`GET ${paths.clients}`), await test.call(`GET ${paths.operators}`)];
  documents = { clients: clients.body, operators: operators.body };
});
after(() => test.close());

function operationsOf(document: Document): { method: string; path: string; operation: Operation }[] {
  return Object.entries(document.paths).flatMap(([path, item]) =>
    Object.entries(item).map(([method, operation]) => ({ method: method.toUpperCase(), path, operation })),
  );
}

/** The declarations that a document describes. */
function routesOf(audience: keyof typeof paths) {
  return test.app.routes.filter(({ path }) => path.startsWith("/_/api/") === (audience === "operators"));
}

function endpointOperationsOf(audience: keyof typeof paths) {
  return audience === "clients" ? test.app.endpoints.flatMap((endpoint) => endpoint.operations) : [];
}

function resolve<T extends object>(value: T | Reference, components: Readonly<Record<string, T>>): T {
  if (!("$ref" in value)) return value;
  const found = components[value.$ref.split("/").at(-1) ?? ""];
  assert.ok(found, value.$ref);
  return found;
}

function parametersOf({ parameters = [] }: Operation, location: string, document: Document): Parameter[] {
  const all = parameters.map((each) => resolve(each, document.components.parameters));
  return all.filter((parameter) => parameter.in === location);
}

/** Returns all failures of an operation in the document. */
function failuresOf(operation: Operation, document: Document): string[] {
  const { "x-caller": caller, "x-errors": own, "x-excluded-errors": excluded = [] } = operation;
  const ofCaller = document["x-caller-errors"][caller] ?? [];
  assert.deepEqual(
    [...own.filter((each) => ofCaller.includes(each)), ...excluded.filter((each) => !ofCaller.includes(each))],
    [],
  );
  return [...own, ...ofCaller.filter((condition) => !excluded.includes(condition))];
}

const failure = { $ref: "#/components/responses/default" };

const schemesOf = {
  anyone: [],
  device: [{ deviceToken: [] }, { bearer: [] }],
  user: [{ userToken: [] }, { bearer: [] }],
  operator: [{ operatorToken: [] }, { bearer: [] }],
};

// spec/transport#openapi
for (const audience of ["clients", "operators"] as const) {
  describe(`${paths[audience]}`, () => {
    let document: Document;
    const operations = () => operationsOf(document);
    before(() => {
      document = documents[audience];
    });

    it("is served as application/json without a token", async () => {
      const { status, headers } = await test.call(`GET ${paths[audience]}`);
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
      const all = [...routesOf(audience), ...endpointOperationsOf(audience)];
      const declared = all.map(({ method, path, operation }) => `${operation} ${method} ${path}`);
      assert.deepEqual(described.sort(), declared.sort());
      assert.equal(new Set(operations().map(({ operation }) => operation.operationId)).size, described.length);
    });

    it("describes the caller, the input and all responses of each operation", () => {
      for (const route of routesOf(audience)) {
        const operation = document.paths[route.path]?.[route.method.toLowerCase()];
        assert.ok(operation);
        assert.deepEqual(operation.security ?? document.security, schemesOf[route.caller]);
        assert.equal(operation["x-caller"], route.caller);
        assert.equal(operation["x-role"], route.caller === "operator" ? roleOf(route) : undefined);
        const isOperators = route.caller === "operator";
        assert.equal(operation["x-batchable"], isOperators ? undefined : route.isBatchable !== false);
        assert.equal(operation["x-idempotent"], isOperators ? undefined : takesIdempotencyKey(route));

        const inPath = parametersOf(operation, "path", document);
        const braces = [...route.path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name);
        assert.deepEqual(
          inPath.map(({ name }) => name),
          braces,
        );
        assert.ok(inPath.every(({ required }) => required));

        const inHeaders = parametersOf(operation, "header", document).map(({ name }) => name);
        const isRehearsed = ["device", "user"].includes(route.caller) || route.operation === "registerDevice";
        assert.deepEqual(inHeaders, [
          ...(takesIdempotencyKey(route) ? ["Idempotency-Key"] : []),
          ...(isRehearsed ? ["Rollcall-Rehearse"] : []),
        ]);

        const names = Object.keys(route.parameters?.properties ?? {});
        const isInQuery = route.method === "GET" || route.method === "DELETE";
        const inQuery = parametersOf(operation, "query", document).map(({ name }) => name);
        assert.deepEqual(inQuery, isInQuery ? names : []);
        assert.deepEqual(namesInBody(operation, document), isInQuery ? [] : names);

        const conditions = conditionsOf(route);
        assert.deepEqual(failuresOf(operation, document).sort(), [...conditions].sort());
        const created = route.mayCreate ? [201] : [];
        const forwarded = route.download === undefined ? [] : [302];
        const sentInParts = conditions.includes("RangeOutsideFile") ? [206, 304] : [];
        const { default: failed, ...successes } = operation.responses;
        assert.deepEqual(failed, failure);
        assert.deepEqual(
          Object.keys(successes).map(Number),
          [route.status, ...created, ...sentInParts, ...forwarded].sort(),
        );
      }
    });

    it("contains only documented extensions", () => {
      const words = new Set<string>();
      JSON.stringify(document, (name, value) => {
        if (name.startsWith("x-")) words.add(name);
        return value;
      });
      const promised = ["batchable", "caller", "caller-errors", "error-catalogue", "errors", "excluded-errors"];
      const own = { clients: ["idempotent"], operators: ["idempotent", "proof", "role"] };
      assert.deepEqual([...words].sort(), [...promised, ...own[audience]].map((word) => `x-${word}`).sort());
    });

    it("explains every error condition", () => {
      const conditions = document["x-error-catalogue"].map(({ condition }) => condition);
      assert.deepEqual(conditions, Object.keys(errorCatalogue));
      for (const condition of Object.keys(errorCatalogue)) {
        const { status, error, errorNumber } = errorRow(condition as keyof typeof errorCatalogue);
        assert.ok(
          document.components.responses[status]?.description.includes(`\`${error}\` ${errorNumber}`),
          condition,
        );
      }
    });

    it("has the same body for all failures", () => {
      const bodies = Object.values(document.components.responses).map(({ content }) => content);
      const schema = { $ref: "#/components/schemas/ApiError" };
      for (const body of bodies) assert.deepEqual(body, { "application/json": { schema } });
    });

    it("has only objects and enumerations as named components, each once", () => {
      const inline: string[] = [];
      JSON.stringify({ ...document, components: document.components.parameters }, (name, value) => {
        if (value?.enum !== undefined || (value?.type === "object" && value.properties !== undefined))
          inline.push(name);
        return value;
      });
      assert.deepEqual(inline, []);

      const enumerations = Object.entries(document.components.schemas).flatMap(([name, schema]) =>
        schema.enum === undefined ? [] : [[String([...schema.enum].sort()), name] as const],
      );
      assert.deepEqual([...new Map(enumerations).values()], [...enumerations.map(([, name]) => name)]);

      for (const [name, { properties = {} }] of Object.entries(document.components.schemas)) {
        for (const [property, schema] of Object.entries(properties)) {
          assert.ok(!("enum" in schema) && !("properties" in schema), `${name}.${property}`);
        }
      }
    });

    it("uses one name for each path parameter", () => {
      const names = new Map<string, string>();
      for (const path of Object.keys(document.paths)) {
        const segments = path.split("/");
        for (const [index, segment] of segments.entries()) {
          if (!segment.startsWith("{")) continue;
          const before = [...segments.slice(0, index), "{}"].join("/");
          assert.equal(names.get(before) ?? segment, segment, path);
          names.set(before, segment);
        }
      }
      assert.ok(names.size > 0);
    });

    it("has no component whose name equals the name of another component's constructor in Go", () => {
      const names = Object.keys(document.components.schemas);
      assert.deepEqual(
        names.filter((name) => names.includes(name.replace(/^New/, "")) && name.startsWith("New")),
        [],
      );
    });

    it("has a type for every constant, and no lists of types", () => {
      JSON.stringify(document, (name, value) => {
        if (value?.const !== undefined) assert.equal(typeof value.type, "string", name);
        if (name === "type")
          assert.ok(typeof value === "string" || "description" in value || "$ref" in value, String(value));
        return value;
      });
    });

    it("describes every operation, parameter, tag and enumeration value, and every property whose name does not explain it", () => {
      const lacking = operations().flatMap(({ operation }) => {
        const all = (operation.parameters ?? []).map((each) => resolve(each, document.components.parameters));
        const parameters = all
          .filter(({ description }) => !description)
          .map(({ name }) => `${operation.operationId} ${name}`);
        return operation.summary && operation.description ? parameters : [operation.operationId, ...parameters];
      });
      lacking.push(...document.tags.filter(({ description }) => !description).map(({ name }) => name));
      for (const [name, schema] of Object.entries(document.components.schemas)) {
        const { description = "" } = schema;
        const properties = propertiesOf(schema, document);
        if (description === "" && !/(?:Answer|Page|Request|Form)$/.test(name)) lacking.push(name);
        const words = schema.enum ?? [];
        const isOrder = words.every((word) => words.includes(`-${word}`) || words.includes(word.slice(1))); // names of properties
        if (!isOrder) lacking.push(...words.filter((word) => !description.includes(`\`${word}\``)));
        for (const [property, described] of Object.entries(properties)) {
          if (!plainNames.has(property) && !isDescribed(described)) lacking.push(`${name}.${property}`);
        }
      }
      assert.deepEqual(lacking, []);
    });

    it("contains the bounds from the settings of the deployment", () => {
      const { pageSize } = document.components.parameters;
      assert.deepEqual(pageSize?.schema, { type: "integer", minimum: 1, maximum: 40, default: 20 });
      if (audience === "operators") return;
      const { requests } = document.components.schemas["RunBatchRequest"]?.properties ?? {};
      assert.deepEqual(requests && "maxItems" in requests && requests.maxItems, 7);
    });

    it("takes at most 2,030 bytes for each operation, and 300 compressed", async () => {
      const { text } = await test.call(`GET ${paths[audience]}`);
      const count = operations().length;
      const [plain, compressed] = [Buffer.byteLength(text), gzipSync(text).length].map((bytes) => bytes / count);
      assert.ok(Number(plain) <= 2_030, `${plain} bytes`);
      assert.ok(Number(compressed) <= 300, `${compressed} bytes compressed`);
    });

    it("names the media type of all binary bodies", () => {
      assert.ok(!JSON.stringify(document.paths).includes('*/*"'));
    });
  });
}

// spec/transport#openapi
describe("the OpenAPI documents", () => {
  it("share no operation, and have the same content for each shared component", () => {
    const { clients, operators } = documents;
    const idsOf = (document: Document) => new Set(operationsOf(document).map(({ operation }) => operation.operationId));
    assert.deepEqual(idsOf(clients).intersection(idsOf(operators)), new Set());
    const names = Object.keys(clients.components.schemas).filter((name) => name in operators.components.schemas);
    assert.ok(names.length > 0);
    for (const name of names) {
      assert.deepEqual(clients.components.schemas[name], operators.components.schemas[name], name);
    }
  });

  it("describes the headers and all responses of resumable uploads", () => {
    const document = documents.clients;
    const described = endpointOperationsOf("clients");
    assert.ok(described.length > 0);
    for (const { method, path, status, requestHeaders, errors } of described) {
      const operation = document.paths[path]?.[method.toLowerCase()];
      assert.ok(operation);
      assert.deepEqual(operation.security, schemesOf.user);
      const headers = parametersOf(operation, "header", document);
      assert.deepEqual(
        headers.map(({ name, required }) => [name, required === true]),
        Object.entries(requestHeaders).map(([name, { isRequired }]) => [name, isRequired]),
      );
      assert.deepEqual(failuresOf(operation, document).sort(), [...errors].sort());
      assert.deepEqual(Object.keys(operation.responses), [`${status}`, "default"]);
    }
  });

  it("compose an object that extends another from the base and the further properties", () => {
    const { OperatedCheckin, Checkin } = documents.operators.components.schemas;
    const [base, more] = OperatedCheckin?.allOf ?? [];
    assert.deepEqual(base, { $ref: "#/components/schemas/Checkin" });
    assert.deepEqual(more && "properties" in more && Object.keys(more.properties ?? {}), ["shownLocation"]);
    assert.ok(Checkin?.properties?.["location"]);
  });
});

/** Returns the properties of an object, including the properties of its base objects. */
function propertiesOf(
  { properties = {}, allOf = [] }: Schema,
  document: Document,
): Readonly<Record<string, Schema | Reference>> {
  const parts = allOf.map((part) => propertiesOf(resolve(part, document.components.schemas), document));
  return Object.assign({}, properties, ...parts);
}

/** Whether a property has a description, or the component that it refers to. */
function isDescribed(schema: Schema | Reference): boolean {
  if ("$ref" in schema || schema.description !== undefined) return true;
  return schema.items !== undefined && "$ref" in schema.items;
}

/** Properties that need no description. */
const plainNames: ReadonlySet<string> = new Set([
  ...["id", "name", "created", "lastModified", "lastLogin", "lastUsed", "expires", "accessTokenExpires"],
  ...["firstName", "lastName", "email", "dateOfBirth", "userName", "newPassword"],
  ...["address1", "address2", "city", "region", "country", "postalCode", "phone", "fax", "website"],
  ...["model", "osVersion", "appVersion", "platform", "stackTrace", "message", "methodName"],
  ...["comment", "description", "title", "caption", "contentType", "userID", "deviceID", "locationID", "thumbnailID"],
  // In envelopes and pages, which the description of the document explains.
  ...[
    "status",
    "result",
    "ignored",
    "request_id",
    "success",
    "pageResults",
    "currentToken",
    "nextToken",
    "previousToken",
  ],
]);

/** Returns the parameters of a body; in an upload, they are in the part `body`. */
function namesInBody({ requestBody }: Operation, document: Document): string[] {
  return Object.entries(requestBody?.content ?? {}).flatMap(([type, { schema }]) => {
    const { schemas } = document.components;
    const { properties = {} } = resolve(schema, schemas);
    if (type !== "multipart/form-data") return Object.keys(properties);
    assert.deepEqual(Object.keys(properties), ["data", "body"]);
    const body = properties["body"];
    assert.ok(body);
    return Object.keys(resolve(body, schemas).properties ?? {});
  });
}

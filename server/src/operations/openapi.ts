import type { Endpoint } from "../contract/endpoint.ts";
import { type CallerKind, isForOperators, type Route } from "../contract/route.ts";
import type { DocumentedLimits } from "../contract/schema.ts";
import { tags } from "../contract/tags.ts";
import { callerConditions, describeCatalogue, describeFailures } from "./openapi-failures.ts";
import { describeEndpointOperation, describeRoute, operatorSecurity } from "./openapi-operations.ts";
import { describeShared, findShared, referToShared } from "./openapi-parameters.ts";
import { createSchemaComponents } from "./openapi-schemas.ts";

/** The content of the documents: operations, and endpoints with other protocols. */
export interface DescribedApi {
  readonly routes: readonly Route[];
  readonly endpoints: readonly Endpoint[];
}

/** The readers of a document: developers of clients, or operators, whose operations are under `/_/api/`. */
export type Audience = "clients" | "operators";

/** Generates the OpenAPI 3.1 document of an audience from the declarations of operations. */
export function describeApi(
  api: DescribedApi,
  audience: Audience,
  info: { readonly version: string; readonly serverUrl: string; readonly limits: DocumentedLimits },
): object {
  const schemas = createSchemaComponents(info.limits);
  const routes = api.routes.filter((route) => isForOperators(route) === (audience === "operators"));
  const endpoints = audience === "clients" ? api.endpoints : [];
  const described = [
    ...routes.map((route) => ({ ...route, description: describeRoute(route, schemas.describe) })),
    ...endpoints.flatMap((endpoint) =>
      endpoint.operations.map((each) => ({ ...each, description: describeEndpointOperation(endpoint, each) })),
    ),
  ];
  const shared = findShared(described.map(({ description }) => description));
  const responses = describeFailures(schemas);

  const paths: Record<string, Record<string, object>> = {};
  for (const { path, method, description } of described) {
    paths[path] = { ...paths[path], [method.toLowerCase()]: referToShared(description, shared) };
  }
  return {
    openapi: "3.1.0",
    info: {
      ...texts[audience],
      version: info.version,
      license: { name: "MIT", identifier: "MIT" },
    },
    servers: [{ url: info.serverUrl }],
    ...(audience === "operators" && { security: operatorSecurity }),
    tags: [...new Set([...routes, ...endpoints].map(({ tag }) => tag))].map((name) => ({
      name,
      description: tags[name],
    })),
    "x-error-catalogue": describeCatalogue(),
    "x-caller-errors": Object.fromEntries(callersOf[audience].map((caller) => [caller, callerConditions[caller]])),
    paths,
    components: {
      schemas: schemas.list(),
      parameters: describeShared(shared),
      responses,
      securitySchemes: securitySchemes[audience],
    },
  };
}

const callersOf = {
  clients: ["anyone", "device", "user"],
  operators: ["anyone", "operator"],
} as const satisfies Record<Audience, readonly CallerKind[]>;

const envelope = `Every answer is an envelope: \`status\`, \`result\` or \`error\`, \`request_id\`, \`success\`. Parameter names match
case-insensitively, null means "not given", unknown parameters are ignored (\`ignored\` names them while the
application has the setting \`debug\`). A page has \`pageResults\`, and tokens for
\`pagingToken\`: \`currentToken\` for itself, \`nextToken\` and \`previousToken\` for its neighbours, if there are.

A failure is an \`ApiError\`. An operation fails with its \`x-errors\`, and with those of \`x-caller-errors\` for its
\`x-caller\` that are not among its \`x-excluded-errors\`. \`x-error-catalogue\` explains them.

| format | in | example |
|---|---|---|
| \`wire-date\` | results; parameters also take other forms | \`/Date(1436400441000)/\`, \`1981-07-09\` |
| \`wire-range\` | parameters: a range of dates, both ends included | \`2026-01-01-2026-01-31T23:59:59Z\` |
| \`wire-location\` | parameters: a point, or the id of a location | \`48.2082,16.3738\` |
| \`wire-area\` | parameters: a circle with its radius in metres, or a box | \`48.2082,16.3738,1000\`, \`47,15-49,17\` |`;

const texts: Readonly<Record<Audience, { title: string; summary: string; description: string }>> = {
  clients: {
    title: "Rollcall",
    summary: "A backend that apps and connected devices talk to over HTTP.",
    description: `Register a device with the application's credentials (\`POST /devices\`), send the device token in
\`Authorization: Service <token>\`, create or log in a user, and continue with the user token.

${envelope}`,
  },
  operators: {
    title: "Rollcall for operators",
    summary: "The administration of a Rollcall deployment.",
    description: `Operators run the deployment and sign in for tokens of their own (\`POST /_/api/sessions\`). Viewers read, editors
change, and owners manage the operators.

${envelope}`,
  },
};

const tokenScheme = { type: "apiKey", in: "header", name: "Authorization" };

const bearer = { type: "http", scheme: "bearer", description: "The same token, as `Bearer <token>`." };

const securitySchemes = {
  clients: {
    deviceToken: { ...tokenScheme, description: "`Service <token>` with a device token or a user token." },
    userToken: { ...tokenScheme, description: "`Service <token>` with a user token." },
    bearer,
  },
  operators: {
    operatorToken: { ...tokenScheme, description: "`Service <token>` with the token of an operator's session." },
    bearer,
  },
};

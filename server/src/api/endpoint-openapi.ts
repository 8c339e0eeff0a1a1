import type { Endpoint, EndpointOperation } from "../contract/endpoint.ts";
import { describeFailures, type Json } from "./openapi.ts";

/** The OpenAPI description of endpoints, in addition to the routes. */
export function describeEndpoints(endpoints: readonly Endpoint[]) {
  return {
    tags: endpoints.map(({ tag }) => tag),
    paths: Object.assign({}, ...endpoints.map(describeEndpoint)) as ReturnType<typeof describeEndpoint>, // only paths of endpoints
  };
}

/** The OpenAPI paths of an endpoint. HEAD and the other methods are shown without X-HTTP-Method-Override. */
function describeEndpoint({ tag, operations, headers }: Endpoint): Record<string, Record<string, Json>> {
  const paths: Record<string, Record<string, Json>> = {};
  for (const operation of operations) {
    paths[operation.path] = {
      ...paths[operation.path],
      [operation.method.toLowerCase()]: describeOperation(operation, tag, headers),
    };
  }
  return paths;
}

function describeOperation(operation: EndpointOperation, tag: string, always: Endpoint["headers"]): Json {
  const { path, summary, requestHeaders, responseHeaders, takes, status, errors } = operation;
  const names = [...path.matchAll(/\{(\w+)\}/g)].map(([, name = ""]) => name);
  return {
    operationId: operation.operation,
    summary,
    tags: [tag],
    security: [{ userToken: [] }],
    parameters: [
      ...names.map((name) => ({ name, in: "path", required: true, schema: { type: "string" } })),
      ...Object.entries(requestHeaders).map(([name, { isRequired, description }]) => ({
        name,
        in: "header",
        required: isRequired,
        description,
        schema: { type: "string" },
      })),
    ],
    ...(takes !== undefined && {
      requestBody: { required: false, content: { [takes]: { schema: { type: "string", format: "binary" } } } },
    }),
    responses: {
      [status]: { description: "Success, without a body", headers: describeHeaders(always, responseHeaders) },
      ...describeFailures(errors),
    },
  };
}

function describeHeaders(always: Endpoint["headers"], responseHeaders: EndpointOperation["responseHeaders"]): Json {
  return Object.fromEntries([
    ...Object.entries(always).map(([name, value]) => [name, { schema: { type: "string", const: value } }]),
    ...Object.entries(responseHeaders).map(([name, description]) => [
      name,
      { description, schema: { type: "string" } },
    ]),
  ]);
}

import { conditionsOf, IdempotencyKey, type Route, takesIdempotencyKey } from "../contract/route.ts";
import { isOptional, type ObjectSchema, type Schema, Type } from "../contract/schema.ts";
import { type ErrorCondition, errorRow } from "../errors.ts";
import { fieldsOf } from "../lib/fields.ts";
import { ErrorEnvelope } from "./envelope.ts";

export type Json = null | boolean | number | string | Json[] | { [name: string]: Json };

/**
 * Generates the OpenAPI 3.1 document from the declarations of operations.
 *
 * @param others paths that are described elsewhere
 */
export function describeRoutes(
  routes: readonly Route[],
  info: { readonly version: string; readonly serverUrl: string },
  others: { readonly tags: readonly string[]; readonly paths: Readonly<Record<string, Record<string, Json>>> },
): Json {
  const paths: Record<string, Record<string, Json>> = {};
  for (const route of routes) {
    paths[route.path] = { ...paths[route.path], [route.method.toLowerCase()]: describeOperation(route) };
  }
  return {
    openapi: "3.1.0",
    info: {
      title: "Rollcall",
      version: info.version,
      summary: "A backend that apps and connected devices talk to over HTTP.",
      description,
      license: { name: "MIT", identifier: "MIT" },
    },
    servers: [{ url: info.serverUrl }],
    tags: [...new Set([...routes.map(({ tag }) => tag), ...others.tags])].map((name) => ({ name })),
    paths: { ...paths, ...others.paths },
    components: {
      schemas: { Error: published(ErrorEnvelope) },
      securitySchemes: {
        deviceToken: { ...tokenScheme, description: "`Service <token>` with a device token or a user token." },
        userToken: { ...tokenScheme, description: "`Service <token>` with a user token." },
        operatorToken: { ...tokenScheme, description: "`Service <token>` with the token of an operator's session." },
      },
    },
  };
}

const description = `Register a device with the application's credentials (\`POST /devices\`), send the device token in
\`Authorization: Service <token>\`, create or log in a user, and go on with the user token.

Every answer is an envelope: \`status\`, \`result\` or \`error\`, \`request_id\`, \`success\`. Parameter names match
case-insensitively, null means "not given", unknown parameters are ignored.

What lies under \`/_/api\` is for operators, who run the deployment and sign in for tokens of their own. Viewers read,
editors change, and owners manage the operators.`;

const tokenScheme = { type: "apiKey", in: "header", name: "Authorization" };

function describeOperation(route: Route): Json {
  const security = {
    anyone: [],
    device: [{ deviceToken: [] }],
    user: [{ userToken: [] }],
    operator: [{ operatorToken: [] }],
  }[route.caller];
  return {
    operationId: route.operation,
    summary: route.summary,
    tags: [route.tag],
    security,
    parameters: [
      ...describeParameters(route.pathParameters, "path"),
      ...(takesBody(route) ? [] : describeParameters(route.parameters, "query")),
      ...(takesIdempotencyKey(route) ? [idempotencyKey] : []),
    ],
    ...(takesBody(route) && route.parameters !== undefined && { requestBody: describeBody(route, route.parameters) }),
    responses: {
      [route.status]: describeSuccess(route, route.status),
      ...(route.download !== undefined && { 302: forwarded }),
      ...(sendsFile(route) && { 206: partOfFile, 304: alreadyThere }),
      ...(route.mayCreate && { 201: describeSuccess(route, 201) }),
      ...describeFailures(conditionsOf(route)),
    },
  };
}

function takesBody({ method }: Route): boolean {
  return method !== "GET" && method !== "DELETE";
}

function describeParameters(shape: ObjectSchema | undefined, location: "path" | "query"): Json[] {
  return Object.entries(shape?.properties ?? {}).map(([name, schema]) => ({
    name,
    in: location,
    required: !isOptional(schema),
    schema: published(schema),
  }));
}

function describeBody({ upload }: Route, shape: ObjectSchema): Json {
  if (upload !== undefined) {
    const data = Type.String({ format: "binary", description: "The file." });
    const form = published(Type.Object({ data, ...shape.properties }));
    return { required: true, content: { "multipart/form-data": { schema: form } } };
  }
  const schema = published(shape);
  return {
    required: shape.required.length > 0,
    content: { "application/json": { schema }, "application/x-www-form-urlencoded": { schema } },
  };
}

function describeSuccess(route: Route, status: number): Json {
  if (isBytes(route.result)) {
    return { description: "The bytes", content: { "*/*": { schema: published(route.result) } } };
  }
  const envelope = Type.Object({
    status: Type.Literal(status),
    result: route.result,
    request_id: Type.String(),
    success: Type.Literal(true),
  });
  return { description: "Success", content: { "application/json": { schema: published(envelope) } } };
}

const idempotencyKey = {
  name: "Idempotency-Key",
  in: "header",
  required: false,
  description:
    "A repeat by the same caller within 24 hours gets the first reply again, marked `Idempotent-Replayed: true`.",
  schema: published(IdempotencyKey),
};

const forwarded = {
  description: "Where the bytes can be read for a few minutes, in a deployment that does not send them itself",
  headers: { Location: { schema: { type: "string", format: "uri" } } },
};

const partOfFile = {
  description: "The bytes that `Range` asked for",
  content: { "*/*": { schema: { type: "string", format: "binary" } } },
};
const alreadyThere = { description: "What `If-None-Match` names is what there is" };

export function describeFailures(conditions: readonly ErrorCondition[]): Record<string, Json> {
  const byStatus = new Map<number, ErrorCondition[]>();
  for (const condition of conditions) {
    const { status } = errorRow(condition);
    byStatus.set(status, [...(byStatus.get(status) ?? []), condition]);
  }
  return Object.fromEntries(
    [...byStatus]
      .sort(([a], [b]) => a - b)
      .map(([status, together]) => [
        String(status),
        {
          description: together.map(describeCondition).join("\n"),
          content: { "application/json": { schema: { $ref: "#/components/schemas/Error" } } },
        },
      ]),
  );
}

function describeCondition(condition: ErrorCondition): string {
  const { error, errorNumber, when } = errorRow(condition);
  return `- \`${error}\` ${errorNumber}: ${when}`;
}

/** Whether the operation sends a file, and thus supports ranges and conditional requests. */
function sendsFile(route: Route): boolean {
  return conditionsOf(route).includes("RangeOutsideFile");
}

/** A schema as JSON, without our internal keywords. */
function published(schema: Schema): Json {
  return JSON.parse(JSON.stringify(schema, (name, value) => (name.startsWith("x-") ? undefined : value)));
}

function isBytes(result: Schema): boolean {
  return fieldsOf(result)["format"] === "binary";
}

import type { Endpoint, EndpointOperation } from "../contract/endpoint.ts";
import { conditionsOf, IdempotencyKey, type Route, roleOf, takesIdempotencyKey } from "../contract/route.ts";
import { isOptional, named, nameOf, type ObjectSchema, type Schema, Type } from "../contract/schema.ts";
import { describeConditions, failureReference } from "./openapi-failures.ts";
import type { DescribedOperation, DescribedParameter } from "./openapi-parameters.ts";
import type { Json, SchemaComponents } from "./openapi-schemas.ts";
import { headerCharactersMax, slowMsMax } from "./rehearsals.ts";

type Describe = SchemaComponents["describe"];

/** Returns the OpenAPI description of a route. */
export function describeRoute(route: Route, describe: Describe): DescribedOperation {
  const conditions = conditionsOf(route);
  const hasBody = takesBody(route);
  return {
    operationId: route.operation,
    summary: route.summary,
    description: route.description,
    tags: [route.tag],
    ...(route.caller !== "operator" && { security: securityOf[route.caller] }),
    ...callerFields(route),
    ...describeConditions(route.caller, conditions),
    ...withParameters([
      ...describeParameters(route.pathParameters, "path", describe),
      ...(hasBody ? [] : describeParameters(route.parameters, "query", describe)),
      ...(takesIdempotencyKey(route) ? [idempotencyKey(describe)] : []),
      ...(canBeRehearsed(route) ? [rehearse] : []),
    ]),
    ...(hasBody && describeBody(route, describe)),
    responses: {
      [route.status]: describeSuccess(route, describe),
      ...(route.download !== undefined && { 302: forwarded }),
      ...(conditions.includes("RangeOutsideFile") && { 206: partOfFile(route.result), 304: alreadyThere }),
      ...(route.mayCreate && { 201: describeSuccess(route, describe) }),
      ...failureReference,
    },
  };
}

/** Returns the OpenAPI description of an endpoint's operation. */
export function describeEndpointOperation(
  { tag, headers }: Endpoint,
  {
    path,
    operation,
    summary,
    description: about,
    requestHeaders,
    responseHeaders,
    takes,
    status,
    errors,
  }: EndpointOperation,
): DescribedOperation {
  const names = [...path.matchAll(/\{(\w+)\}/g)].map(([, name = ""]) => name);
  return {
    operationId: operation,
    summary,
    description: about,
    tags: [tag],
    security: securityOf.user,
    ...{ "x-caller": "user", "x-batchable": false, "x-idempotent": false },
    ...describeConditions("user", errors),
    ...withParameters([
      ...names.map((name) => {
        const description = "As the address of the upload ends.";
        return { name, in: "path", required: true, description, schema: { type: "string" } } as const;
      }),
      ...Object.entries(requestHeaders).map(
        ([name, { isRequired, description }]) =>
          ({
            name,
            in: "header",
            ...(isRequired && { required: true }),
            description,
            schema: { type: "string" },
          }) as const,
      ),
    ]),
    ...(takes !== undefined && {
      requestBody: { content: { [takes]: { schema: { type: "string", format: "binary" } } } },
    }),
    responses: {
      [status]: { description: "Success, without a body.", headers: describeHeaders(headers, responseHeaders) },
      ...failureReference,
    },
  };
}

/** The token schemes of `openapi.ts` describe the header with the scheme `Service`. */
const securityOf = {
  anyone: [],
  device: [{ deviceToken: [] }, { bearer: [] }],
  user: [{ userToken: [] }, { bearer: [] }],
};

/** The security of all operations in the operators' document. */
export const operatorSecurity = [{ operatorToken: [] }, { bearer: [] }];

/** Omits the extensions for batches and idempotency keys for operators, who have neither. */
function callerFields(route: Route) {
  return {
    "x-caller": route.caller,
    ...(route.caller === "operator" && { "x-role": roleOf(route) }),
    ...(route.proof !== undefined && { "x-proof": route.proof }),
    ...(route.caller !== "operator" && {
      "x-batchable": route.isBatchable !== false,
      "x-idempotent": takesIdempotencyKey(route),
    }),
  };
}

function takesBody({ method, parameters = Type.Object({}), upload }: Route): boolean {
  const isInBody = method !== "GET" && method !== "DELETE";
  return isInBody && (upload !== undefined || Object.keys(parameters.properties).length > 0);
}

function withParameters(parameters: readonly DescribedParameter[]) {
  return parameters.length === 0 ? {} : { parameters };
}

function describeParameters(
  shape: ObjectSchema | undefined,
  location: "path" | "query",
  describe: Describe,
): DescribedParameter[] {
  return Object.entries(shape?.properties ?? {}).map(([name, schema]) => {
    const { description, ...described } = describe(schema);
    return {
      name,
      in: location,
      ...(!isOptional(schema) && { required: true }),
      ...(typeof description === "string" && { description }),
      schema: described,
    };
  });
}

function idempotencyKey(describe: Describe): DescribedParameter {
  return {
    name: "Idempotency-Key",
    in: "header",
    description:
      "A repeat by the same caller within 24 hours gets the first reply again, marked `Idempotent-Replayed: true`.",
    schema: describe(IdempotencyKey),
  };
}

/** Whether failures of the operation can be rehearsed (spec/rehearsal#what-can-be-rehearsed). */
function canBeRehearsed({ caller, operation }: Route): boolean {
  return caller === "device" || caller === "user" || operation === "registerDevice";
}

const rehearse: DescribedParameter = {
  name: "Rollcall-Rehearse",
  in: "header",
  description: `For tests, in an application that allows it: a condition of the operation, \`cut\`, \`truncated\`, \`html\` or
\`slow;ms=<1 to ${slowMsMax}>\`, then \`;at=before\` or \`;at=after\`. The answer has the header \`Rollcall-Rehearsed\`.`,
  schema: { type: "string", maxLength: headerCharactersMax },
};

function describeBody({ operation, parameters = Type.Object({}), upload }: Route, describe: Describe) {
  const name = `${operation.charAt(0).toUpperCase()}${operation.slice(1)}`;
  const request = nameOf(parameters) === undefined ? named(`${name}Request`, undefined, parameters) : parameters;
  if (upload === undefined) {
    const content = { "application/json": { schema: describe(request) } };
    return { requestBody: { ...(parameters.required.length > 0 && { required: true }), content } };
  }
  const data = Type.String({ format: "binary", description: "The file." });
  const form = Type.Object({ data, body: Type.Optional(request) });
  const schema = describe(named(`${name}Form`, undefined, form));
  const encoding = { body: { contentType: "application/json" } };
  return { requestBody: { required: true, content: { "multipart/form-data": { schema, encoding } } } };
}

function describeSuccess({ result }: Route, describe: Describe): Json {
  const mediaType = mediaTypeOf(result);
  if (mediaType !== undefined)
    return { description: "The bytes.", content: { [mediaType]: { schema: describe(result) } } };
  return { description: "OK", content: { "application/json": { schema: describe(answerWith(result)) } } };
}

/** Returns the envelope of a result; results that are scalars share the envelope of their type. */
function answerWith(result: Schema): Schema {
  const isTrue = result["const"] === true;
  const value = nameOf(result) === undefined && !isTrue ? { type: result["type"] } : result;
  return named(
    `${nameOf(result) ?? answersByType[`${result["type"]}`]}Answer`,
    undefined,
    Type.Object({
      status: Type.Integer(),
      result: value,
      ignored: Type.Optional(Type.Array(Type.String())),
      request_id: Type.String(),
      success: Type.Literal(true),
    }),
  );
}

const answersByType: Readonly<Record<string, string>> = { boolean: "True", string: "Text", integer: "Integer" };

/** Returns the media type of a result that is sent as bytes. */
function mediaTypeOf(result: Schema): string | undefined {
  const mediaType = result["x-media-type"];
  return typeof mediaType === "string" ? mediaType : undefined;
}

const forwarded = {
  description: "The URL of the bytes for a few minutes, in a deployment that does not send them itself.",
  headers: { Location: { schema: { type: "string", format: "uri" } } },
};

function partOfFile(result: Schema): Json {
  return {
    description: "The bytes of `Range`.",
    content: { [mediaTypeOf(result) ?? "application/octet-stream"]: { schema: { type: "string", format: "binary" } } },
  };
}

const alreadyThere = { description: "`If-None-Match` names the current version." };

function describeHeaders(always: Endpoint["headers"], responseHeaders: EndpointOperation["responseHeaders"]): Json {
  return Object.fromEntries([
    ...Object.entries(always).map(([name, value]) => [name, { schema: { type: "string", const: value } }]),
    ...Object.entries(responseHeaders).map(([name, description]) => [
      name,
      { description, schema: { type: "string" } },
    ]),
  ]);
}

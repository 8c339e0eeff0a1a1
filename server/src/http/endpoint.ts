import type { IncomingHttpHeaders } from "node:http";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { ApiError, type ErrorCondition } from "../errors.ts";
import { type ArrivingBytes, arrivingBytes } from "./arriving-bytes.ts";
import { discardRest } from "./body.ts";
import { setOrigin } from "./cors.ts";
import { type MountOptions, requireSignedRequest, routerPath, setOperation } from "./mount.ts";
import type { RequireServed } from "./operations.ts";
import { requireEnabled } from "./policy.ts";
import type { RateLimits } from "./rate-limits.ts";
import type { UserCaller } from "./route.ts";

/**
 * Paths with a protocol of their own for users, with headers and bytes instead of parameters and results. Errors use
 * the envelope nevertheless.
 */
export interface Endpoint {
  readonly tag: string;
  readonly operations: readonly EndpointOperation[];
  /** Sent with every response, including errors. */
  readonly headers: Readonly<Record<string, string>>;
  /** Sent in addition with the response to OPTIONS, which needs no token. */
  readonly options: Readonly<Record<string, string>>;
  /** @throws ApiError */
  answer(exchange: Exchange): Promise<EndpointReply>;
}

/** An operation of an endpoint, as declared for the router and for OpenAPI. */
export interface EndpointOperation {
  readonly method: "HEAD" | "POST" | "PATCH" | "DELETE";
  /** With its parameters in braces. */
  readonly path: string;
  readonly operation: string;
  readonly summary: string;
  readonly requestHeaders: Readonly<Record<string, HeaderDescription>>;
  /** The Content-Type of its body, if it takes one. */
  readonly takes?: string;
  readonly status: 200 | 201 | 204;
  readonly responseHeaders: Readonly<Record<string, string>>;
  readonly errors: readonly ErrorCondition[];
}

export interface HeaderDescription {
  readonly isRequired: boolean;
  readonly description: string;
}

export interface Exchange {
  readonly caller: UserCaller;
  /** Selected by X-HTTP-Method-Override if present. */
  readonly operation: EndpointOperation;
  readonly path: Readonly<Record<string, string>>;
  readonly headers: IncomingHttpHeaders;
  readonly contentType: string | undefined;
  readonly body: ArrivingBytes;
}

export interface EndpointReply {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
}

/** The router accepts all of them, because X-HTTP-Method-Override may override the method. */
const methods = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"];

/** Registers an endpoint: authenticates first, then finds the operation, which reads the raw body itself. */
export function mountEndpoint(
  server: FastifyInstance,
  endpoint: Endpoint,
  options: Omit<MountOptions, "scheme" | "isSecure"> & {
    readonly rateLimits: RateLimits;
    readonly requireServed?: RequireServed | undefined;
  },
): void {
  const { authenticate, limits, inFlight, rateLimits, requireServed } = options;

  async function answer(request: FastifyRequest, operation: EndpointOperation): Promise<EndpointReply> {
    const body = arrivingBytes(request.raw, limits.requestTimeoutMs);
    const caller = request.caller as UserCaller; // guaranteed by `authenticate`
    const path = request.params as Record<string, string>; // the router's, by the names in the path
    let endUpload = () => {};
    try {
      requireEnabled(caller.policy, operation, path, caller);
      rateLimits.admit(operation, { address: request.address, path }, caller);
      if (operation.takes !== undefined && hasBody(request)) endUpload = inFlight.beginUpload(request);
      const { headers, contentType } = request;
      const answered = await endpoint.answer({ caller, operation, path, headers, contentType, body });
      if (operation.method !== "HEAD") await requireServed?.(caller.applicationId);
      return answered;
    } finally {
      endUpload();
      body.end();
      await discardRest(request.raw);
    }
  }

  async function handle(request: FastifyRequest, reply: FastifyReply): Promise<void> {
    const operation = operationOf(endpoint, request);
    if (operation === undefined) throw new ApiError("OperationNotFound");
    const { status, headers } = await answer(request, operation);
    reply.code(status).headers(headers).send();
  }

  for (const path of new Set(endpoint.operations.map((each) => each.path))) {
    server.route({
      method: methods,
      url: routerPath(path),
      config: { operation: endpoint.tag, isUpload: true, path },
      async onRequest(request, reply) {
        setOperation(request, operationOf(endpoint, request)?.operation);
        reply.headers(endpoint.headers);
        request.caller = await authenticate(request.headers.authorization, "user");
        setOrigin(reply, request);
        requireSignedRequest(request, request.caller as UserCaller, request.headers.authorization); // a UserCaller, as in `answer`
      },
      handler(request, reply) {
        handle(request, reply).catch((error) => reply.send(error));
      },
    });
  }
}

declare module "fastify" {
  interface FastifyContextConfig {
    /** The path of an endpoint, as declared. */
    path?: string;
  }
}

/**
 * Whether the request has a body. A request without one must not count as an upload under way: many of them can wait
 * for the database at once.
 */
function hasBody({ raw: { headers } }: FastifyRequest): boolean {
  return headers["transfer-encoding"] !== undefined || Number(headers["content-length"] ?? 0) > 0;
}

/** Finds the requested operation. X-HTTP-Method-Override is for clients that support few methods. */
function operationOf({ operations }: Endpoint, request: FastifyRequest): EndpointOperation | undefined {
  const { "x-http-method-override": override } = request.headers;
  const method = typeof override === "string" ? override.trim().toUpperCase() : request.method;
  return operations.find((each) => each.method === method && each.path === request.routeOptions.config.path);
}

/** The headers that OPTIONS sends for the endpoint at a path; none when there is no endpoint. */
export function optionsHeaders(
  endpoints: readonly Endpoint[],
  given: string,
): Readonly<Record<string, string>> | undefined {
  const path = given.replace(/\/+$/, "");
  const found = endpoints.find(({ operations }) => operations.some((each) => matches(each.path, path)));
  return found && { ...found.headers, ...found.options };
}

/** The response headers that web pages may read. */
export function readableHeaders({ headers, options, operations }: Endpoint): string[] {
  return [headers, options, ...operations.map((each) => each.responseHeaders)].flatMap(Object.keys);
}

function matches(declared: string, path: string): boolean {
  const [names, given] = [declared.split("/"), path.split("/")];
  return names.length === given.length && names.every((name, index) => name.startsWith("{") || name === given[index]);
}

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
 * Paths that speak a protocol of their own, with headers and bytes in the place of parameters and results, to users. Errors
 * are in the envelope all the same.
 */
export interface Endpoint {
  readonly tag: string;
  readonly operations: readonly EndpointOperation[];
  /** Sent with every answer, whoever refuses. */
  readonly headers: Readonly<Record<string, string>>;
  /** What OPTIONS tells beside them, to anybody. */
  readonly options: Readonly<Record<string, string>>;
  /** @throws ApiError */
  answer(exchange: Exchange): Promise<EndpointReply>;
}

/** What can be done at an endpoint: for the router, and for OpenAPI. */
export interface EndpointOperation {
  readonly method: "HEAD" | "POST" | "PATCH" | "DELETE";
  /** With its parameters in braces. */
  readonly path: string;
  readonly operation: string;
  readonly summary: string;
  readonly requestHeaders: Readonly<Record<string, HeaderDescription>>;
  /** The Content-Type of its body, where it takes one. */
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
  /** Which is what X-HTTP-Method-Override says, where there is one. */
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

/** The router takes all of them: the method that counts may be in a header. */
const methods = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"];

/** Puts an endpoint on the server: caller first, then the operation, which takes the body as it comes. */
export function mountEndpoint(
  server: FastifyInstance,
  endpoint: Endpoint,
  options: Omit<MountOptions, "scheme"> & {
    readonly rateLimits: RateLimits;
    readonly requireServed?: RequireServed | undefined;
  },
): void {
  const { authenticate, limits, rateLimits, requireServed } = options;

  async function answer(request: FastifyRequest, operation: EndpointOperation): Promise<EndpointReply> {
    const body = arrivingBytes(request.raw, limits.requestTimeoutMs);
    const caller = request.caller as UserCaller; // authenticate has let nobody else pass
    const path = request.params as Record<string, string>; // the router's, by the names in the path
    try {
      requireEnabled(caller.policy, operation, path, caller);
      rateLimits.admit(operation, { address: request.address, path }, caller);
      const { headers, contentType } = request;
      const answered = await endpoint.answer({ caller, operation, path, headers, contentType, body });
      if (operation.method !== "HEAD") await requireServed?.(caller.applicationId);
      return answered;
    } finally {
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
        requireSignedRequest(request, request.caller as UserCaller, request.headers.authorization); // as `answer`
      },
      handler(request, reply) {
        handle(request, reply).catch((error) => reply.send(error));
      },
    });
  }
}

declare module "fastify" {
  interface FastifyContextConfig {
    /** The path of an endpoint, as it is declared. */
    path?: string;
  }
}

/** What is asked for: X-HTTP-Method-Override is for clients that can send few methods. */
function operationOf({ operations }: Endpoint, request: FastifyRequest): EndpointOperation | undefined {
  const { "x-http-method-override": override } = request.headers;
  const method = typeof override === "string" ? override.trim().toUpperCase() : request.method;
  return operations.find((each) => each.method === method && each.path === request.routeOptions.config.path);
}

/** What OPTIONS of a path tells of the endpoint that is there, if there is one. */
export function optionsHeaders(
  endpoints: readonly Endpoint[],
  given: string,
): Readonly<Record<string, string>> | undefined {
  const path = given.replace(/\/+$/, "");
  const found = endpoints.find(({ operations }) => operations.some((each) => matches(each.path, path)));
  return found && { ...found.headers, ...found.options };
}

/** What web pages may read of the answers. */
export function readableHeaders({ headers, options, operations }: Endpoint): string[] {
  return [headers, options, ...operations.map((each) => each.responseHeaders)].flatMap(Object.keys);
}

function matches(declared: string, path: string): boolean {
  const [names, given] = [declared.split("/"), path.split("/")];
  return names.length === given.length && names.every((name, index) => name.startsWith("{") || name === given[index]);
}

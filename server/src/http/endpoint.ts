import type { IncomingHttpHeaders } from "node:http";
import { ApiError, type ErrorCondition } from "../errors.ts";
import { type ArrivingBytes, arrivingBytes } from "./arriving-bytes.ts";
import { discardRest } from "./body.ts";
import type { Exchange } from "./exchange.ts";
import { acceptCaller, type MountOptions } from "./mount.ts";
import type { RequireServed } from "./operations.ts";
import { requireEnabled } from "./policy.ts";
import type { RateLimits } from "./rate-limits.ts";
import type { UserCaller } from "./route.ts";
import type { RouteTable } from "./route-table.ts";

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
  answer(call: EndpointCall): Promise<EndpointReply>;
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

export interface EndpointCall {
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
const methods = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"] as const;

/** Adds an endpoint: authenticates first, then finds the operation, which reads the raw body itself. */
export function mountEndpoint(
  routes: RouteTable,
  endpoint: Endpoint,
  options: Omit<MountOptions, "scheme" | "isSecure"> & {
    readonly rateLimits: RateLimits;
    readonly requireServed?: RequireServed | undefined;
  },
): void {
  const { authenticate, limits, inFlight, rateLimits, requireServed } = options;

  async function perform(exchange: Exchange, operation: EndpointOperation): Promise<EndpointReply> {
    const { request, headers, path, address } = exchange;
    const body = arrivingBytes(request, limits.requestTimeoutMs);
    const caller = exchange.caller as UserCaller; // guaranteed by `acceptCaller`
    let endUpload = () => {};
    try {
      requireEnabled(caller.policy, operation, path, caller);
      rateLimits.admit(operation, { address, path }, caller);
      // A request without a body is not an upload under way: many of them can wait for the database at once.
      if (operation.takes !== undefined && exchange.hasBody()) endUpload = inFlight.beginUpload(exchange);
      const contentType = headers["content-type"];
      const answered = await endpoint.answer({ caller, operation, path, headers, contentType, body });
      if (operation.method !== "HEAD") await requireServed?.(caller.applicationId);
      return answered;
    } finally {
      endUpload();
      body.end();
      await discardRest(request);
    }
  }

  for (const path of new Set(endpoint.operations.map((each) => each.path))) {
    routes.add(methods, path, {
      name: endpoint.tag,
      readsBody: true,
      accept(exchange) {
        exchange.setOperation(operationOf(endpoint, path, exchange)?.operation);
        exchange.setHeaders(endpoint.headers);
        return acceptCaller(exchange, "user", authenticate);
      },
      async answer(exchange) {
        const operation = operationOf(endpoint, path, exchange);
        if (operation === undefined) throw new ApiError("OperationNotFound");
        const { status, headers } = await perform(exchange, operation);
        exchange.setHeaders(headers);
        exchange.send(status);
      },
    });
  }
}

/** Finds the requested operation. X-HTTP-Method-Override is for clients that support few methods. */
function operationOf({ operations }: Endpoint, path: string, exchange: Exchange): EndpointOperation | undefined {
  const { "x-http-method-override": override } = exchange.headers;
  const method = typeof override === "string" ? override.trim().toUpperCase() : exchange.method;
  return operations.find((each) => each.method === method && each.path === path);
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

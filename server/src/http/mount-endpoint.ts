import type { Endpoint, EndpointOperation, EndpointReply } from "../contract/endpoint.ts";
import { requireEnabled } from "../contract/policy.ts";
import type { UserCaller } from "../contract/route.ts";
import { ApiError } from "../lib/errors.ts";
import type { RequireServed } from "../operations/operations.ts";
import type { RateLimits } from "../operations/rate-limits.ts";
import { arrivingBytes } from "./arriving-bytes.ts";
import { discardRest } from "./body.ts";
import type { Exchange } from "./exchange.ts";
import { acceptCaller, type MountOptions } from "./mount.ts";
import type { RouteTable } from "./route-table.ts";

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
    const { headers, path, address, request } = exchange;
    const body = arrivingBytes(request, limits.requestTimeoutMs);
    const caller = exchange.caller as UserCaller; // guaranteed by `acceptCaller`
    let endUpload = () => {};
    try {
      requireEnabled(caller.policy, operation, path, caller);
      await rateLimits.admit(operation, { address, path }, caller);
      // A request without a body is no upload in progress: many of them can wait for the database at once.
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

import type { Config } from "../config/config.ts";
import type { Endpoint, EndpointOperation, EndpointReply } from "../contract/endpoint.ts";
import { requireEnabled } from "../contract/policy.ts";
import type { UserCaller } from "../contract/route.ts";
import { ApiError } from "../lib/errors.ts";
import type { Authenticate, BoundOperation, RequireServed } from "../operations/perform.ts";
import type { RateLimits } from "../operations/rate-limits.ts";
import { receiveBytes } from "./arriving-bytes.ts";
import { discardRest } from "./body.ts";
import type { Exchange } from "./exchange.ts";
import { createHttpServer, type HttpServer, type HttpServerOptions } from "./http-server.ts";
import { type InternalEndpoint, mountInternalEndpoint } from "./internal-endpoint.ts";
import { acceptCaller, type MountOptions, mountOperation } from "./mount.ts";
import { createPeers } from "./peer.ts";
import { createRequestHandler, type RequestHandlerOptions } from "./request-handler.ts";
import type { RouteTable } from "./route-table.ts";
import { mountWebAssets, type WebAssets } from "./web-assets.ts";
import {
  type GuardedPage,
  type LandingPage,
  mountGuardedPage,
  mountLandingPage,
  mountPage,
  type Page,
} from "./web-page.ts";

export interface TransportOptions extends Omit<HttpServerOptions, "inFlight">, Omit<RequestHandlerOptions, "peers"> {
  readonly config: HttpServerOptions["config"] &
    RequestHandlerOptions["config"] &
    Pick<Config, "fileBytesMax" | "authSchemes" | "trustedProxies">;
  readonly operations: readonly BoundOperation[];
  readonly internalEndpoints: readonly InternalEndpoint[];
  readonly pages: readonly Page[];
  readonly landingPage: LandingPage;
  /** Undefined when the console is off. */
  readonly consoleAssets: WebAssets | undefined;
  readonly guardedPages: readonly GuardedPage[];
  readonly authenticate: Authenticate;
  readonly rateLimits: RateLimits;
  readonly requireServed: RequireServed | undefined;
  readonly delayWrite: MountOptions["delayWrite"];
}

/**
 * Creates the HTTP server with all its routes (spec/transport). Every response, including errors, uses the envelope.
 * Bodies are parsed by content, not by content type. Each request has one log line, which never contains a query, a
 * header or a body.
 */
export function createTransport(options: TransportOptions): HttpServer {
  const { config, routeTable, authenticate, inFlight, rateLimits, requireServed, delayWrite } = options;
  const peers = createPeers(config.trustedProxies);
  const scheme = config.authSchemes[0] ?? "";
  const services = { authenticate, limits: config, inFlight, scheme, isSecure: peers.isSecure, delayWrite };
  for (const operation of options.operations) mountOperation(routeTable, operation, services);
  for (const endpoint of options.endpoints) {
    mountEndpoint(routeTable, endpoint, { ...services, rateLimits, requireServed });
  }
  for (const endpoint of options.internalEndpoints) mountInternalEndpoint(routeTable, endpoint);
  for (const page of options.pages) mountPage(routeTable, page);
  if (options.consoleAssets !== undefined) mountWebAssets(routeTable, options.consoleAssets, peers.isSecure);
  mountLandingPage(routeTable, options.landingPage);
  for (const page of options.guardedPages) mountGuardedPage(routeTable, page);
  return createHttpServer(options, createRequestHandler({ ...options, peers }));
}

/** An endpoint routes all verbs, because X-HTTP-Method-Override may override the verb of the request. */
const methods = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"] as const;

/** Adds an endpoint, whose operations read the raw body. It authenticates the caller before it finds the operation. */
function mountEndpoint(
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
    const body = receiveBytes(request, limits.requestTimeoutMs);
    const caller = exchange.caller as UserCaller; // guaranteed by `acceptCaller`
    let endUpload = () => {};
    try {
      requireEnabled(caller.policy, operation, path, caller);
      await rateLimits.admit(operation, { address, path }, caller);
      // A request without a body does not count as an upload, so that many can wait for the database concurrently.
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

/** Finds the requested operation. Clients that support few verbs send X-HTTP-Method-Override. */
function operationOf({ operations }: Endpoint, path: string, exchange: Exchange): EndpointOperation | undefined {
  const { "x-http-method-override": override } = exchange.headers;
  const method = typeof override === "string" ? override.trim().toUpperCase() : exchange.method;
  return operations.find((each) => each.method === method && each.path === path);
}

import type { Config } from "../config/config.ts";
import type { Authenticate, Operation, RequireServed } from "../operations/operations.ts";
import type { RateLimits } from "../operations/rate-limits.ts";
import { type GuardedPage, mountGuardedPage } from "./guarded-page.ts";
import { createHttpServer, type HttpServer, type HttpServerOptions } from "./http-server.ts";
import { type InternalEndpoint, mountInternalEndpoint } from "./internal-endpoint.ts";
import { type LandingPage, mountLandingPage } from "./landing-page.ts";
import { type MountOptions, mountOperation } from "./mount.ts";
import { mountEndpoint } from "./mount-endpoint.ts";
import { createPeers } from "./peer.ts";
import { createRequestHandler, type RequestHandlerOptions } from "./request-handler.ts";
import { mountWebAssets, type WebAssets } from "./web-assets.ts";
import { mountPage, type Page } from "./web-page.ts";

export interface TransportOptions extends Omit<HttpServerOptions, "inFlight">, Omit<RequestHandlerOptions, "peers"> {
  readonly config: HttpServerOptions["config"] &
    RequestHandlerOptions["config"] &
    Pick<Config, "fileBytesMax" | "authSchemes" | "trustedProxies">;
  readonly operations: readonly Operation[];
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
 * Creates the HTTP server with everything that it answers (spec/transport): every response, including errors, uses the
 * envelope; bodies are parsed by content, not by content type; each request has one log line, which never contains a
 * query, a header or a body.
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

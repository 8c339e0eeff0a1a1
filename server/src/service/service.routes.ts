import { version } from "../config/version.ts";
import { named, Type } from "../contract/schema.ts";
import { ApiError } from "../lib/errors.ts";
import { operation } from "../operations/operation.ts";

/** Names the broken parts of a server that is otherwise ready: `disk`, `files`. */
const degradedHeader = "rollcall-degraded";

const ping = operation({
  method: "GET",
  path: "/service/ping",
  operation: "ping",
  summary: "Answer Pong, whether the token is valid, invalid or missing",
  description: "For clients that check their connection.",
  tag: "Service",
  caller: "anyone",
  status: 200,
  result: Type.Literal("Pong"),
  errors: [],
  handle: async () => "Pong" as const,
});

const ServiceDescription = named(
  "ServiceDescription",
  "The server, and the paths of its documentation and health checks.",
  Type.Object({
    name: Type.String(),
    version: Type.String({ description: "The version of the server." }),
    console: Type.Optional(Type.String({ description: "The path of the operators' console, if it is on." })),
    docs: Type.String({ description: "The path of the documentation." }),
    openapi: Type.String({ description: "The path of the OpenAPI document." }),
    live: Type.String({ description: "The path that says whether the process runs." }),
    ready: Type.String({ description: "The path that says whether it accepts requests." }),
  }),
);

const describeService = operation({
  method: "GET",
  path: "/_/",
  operation: "describeService",
  summary: "Read the name, the version and links to the documentation",
  description: "For people and tools that look around.",
  tag: "Service",
  caller: "anyone",
  status: 200,
  result: ServiceDescription,
  errors: [],
  handle: async (_input, { config }) => ({
    name: "Rollcall",
    version,
    ...(config.console && { console: "/_/console/" }),
    docs: "/_/docs",
    openapi: "/_/openapi.json",
    live: "/_/health/live",
    ready: "/_/health/ready",
  }),
});

const checkLive = operation({
  method: "GET",
  path: "/_/health/live",
  operation: "checkLive",
  summary: "Check whether the process runs",
  description: "For a supervisor, which restarts a process that does not answer.",
  tag: "Service",
  caller: "anyone",
  allowsPlainHttp: true,
  status: 200,
  result: Type.Literal("live"),
  errors: [],
  handle: async () => "live" as const,
});

const checkReady = operation({
  method: "GET",
  path: "/_/health/ready",
  operation: "checkReady",
  summary:
    "Check whether the process accepts requests: the database and the bucket answer, and it is not shutting down",
  description: "For a load balancer, which sends requests only to ready processes.",
  tag: "Service",
  caller: "anyone",
  allowsPlainHttp: true,
  status: 200,
  result: Type.Literal("ready"),
  errors: [],
  async handle({ call }, { isDraining, database, storageHealth, ownReports }) {
    if (isDraining()) throw new ApiError("ServiceUnavailable", "The server is shutting down.");
    await database.ping();
    const problems = await storageHealth.findProblems();
    const refusal = problems.find((problem) => problem.refusal !== undefined)?.refusal;
    if (refusal !== undefined) throw new ApiError("ServiceUnavailable", refusal);
    // Reads still work: a load balancer must not take the server out.
    const kinds = new Set<string>(problems.map(({ kind }) => kind));
    if (ownReports.isDatabaseAway && !kinds.has("disk")) kinds.add("database"); // a full disk is the reason already
    if (kinds.size > 0) call.setHeader?.(degradedHeader, [...kinds].join(", "));
    return "ready" as const;
  },
});

/**
 * Endpoints about the service itself (spec/transport#connections-and-service-endpoints): ping, and health and addresses
 * under `/_/`.
 */
export const serviceOperations = [ping, describeService, checkLive, checkReady];

import createRouter, { type HTTPMethod } from "find-my-way";
import type { Logger } from "pino";
import { ApiError } from "../errors.ts";
import { runAsInnerCall } from "../lib/current-call.ts";
import { parseQuery } from "./body.ts";
import type { Call, RawParameters } from "./call.ts";
import { newRequestId, type Reply } from "./envelope.ts";
import { routerPath } from "./mount.ts";
import { type Authenticate, type Operation, refuse } from "./operations.ts";
import type { AnyCaller, Route } from "./route.ts";

/** A call that arrived inside of another one. */
export interface InnerCall {
  readonly method: string;
  /** With the query, as it would stand in a request. */
  readonly path: string;
  /** In place of a body; of a GET, beside the query. */
  readonly parameters: RawParameters;
  readonly idempotencyKey: unknown;
  readonly admission?: Call["admission"];
}

/** A call that is about to be made. */
export interface Dispatched {
  readonly requestId: string;
  readonly route: Route | undefined;
  /** Authenticates and answers, just as if it had been sent alone. Throws nothing but Interrupted. */
  run(): Promise<DispatchedReply>;
}

export interface DispatchedReply {
  readonly reply: Reply;
  readonly caller: AnyCaller | undefined;
}

/** Calls operations as a request of its own would: the same routing, authentication, reading and answers. */
export interface Dispatcher {
  /** @param outer the request that it came in, whose token it is made with */
  dispatch(inner: InnerCall, outer: Pick<Call, "authorization" | "address" | "idempotencyKey">): Dispatched;
  add(operations: readonly Operation[]): void;
}

export function createDispatcher(options: {
  /** Notices what has been revoked elsewhere. */
  beginTurn(): void;
  readonly authenticate: Authenticate;
  readonly headerBytesMax: number;
  readonly log: Logger;
}): Dispatcher {
  const { headerBytesMax, log } = options;
  // As the server's own router, so that a path means the same there and here.
  const router = createRouter({
    ignoreTrailingSlash: true,
    ignoreDuplicateSlashes: true,
    maxParamLength: headerBytesMax,
    querystringParser: (query) => query,
    onBadUrl: () => {},
  });

  /** @throws ApiError OperationNotFound, RequestTooLarge, ParameterIncorrectFormat */
  function find({ method, path }: InnerCall) {
    if (path.length > headerBytesMax) {
      throw new ApiError("RequestTooLarge", "The path and the headers together are too long.");
    }
    const found = methods.has(method) ? router.find(method as HTTPMethod, path) : null; // one of `methods`
    if (found === null) throw new ApiError("OperationNotFound");
    const operation: Operation | null = found.store;
    if (operation === null) throw new ApiError("ParameterIncorrectFormat", "The path is not valid UTF-8.");
    if (operation.route.isBatchable === false) throw new ApiError("OperationNotFound", "A batch cannot hold this.");
    return { operation, path: found.params, query: found.searchParams as unknown as string }; // see querystringParser
  }

  async function authenticate(route: Route, authorization: string | undefined): Promise<AnyCaller | undefined> {
    if (route.caller === "anyone") return undefined;
    options.beginTurn();
    return options.authenticate(authorization, route.caller);
  }

  return {
    add(operations) {
      for (const operation of operations) {
        const { method, path } = operation.route;
        router.on(method, routerPath(path), () => {}, operation);
      }
    },

    dispatch(inner, outer) {
      const requestId = newRequestId();
      let target: ReturnType<typeof find>;
      try {
        target = find(inner);
      } catch (error) {
        const refused = { reply: refuse(error, requestId, log), caller: undefined };
        return { requestId, route: undefined, run: async () => refused };
      }
      const { operation, path, query } = target;
      const { method } = operation.route;
      const { authorization, address } = outer;
      const call: Call = {
        authorization,
        address,
        requestId,
        path,
        idempotencyKey: inner.idempotencyKey,
        admission: inner.admission,
        isKept: outer.idempotencyKey !== undefined,
        readParameters() {
          if (query === "" || (method !== "GET" && method !== "DELETE")) return inner.parameters;
          return [...parseQuery(query), ...inner.parameters];
        },
      };
      return {
        requestId,
        route: operation.route,
        run: () =>
          runAsInnerCall({ requestId, operation: operation.route.operation }, async () => {
            let caller: AnyCaller | undefined;
            try {
              caller = await authenticate(operation.route, outer.authorization);
            } catch (error) {
              return { reply: refuse(error, requestId, log), caller };
            }
            return { reply: await operation.perform(call, caller), caller };
          }),
      };
    },
  };
}

const methods: ReadonlySet<string> = new Set(["GET", "POST", "PUT", "PATCH", "DELETE"]);

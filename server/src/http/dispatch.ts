import createRouter, { type HTTPMethod } from "find-my-way";
import type { Logger } from "pino";
import { ApiError } from "../errors.ts";
import { CallWork } from "../lib/call-work.ts";
import { runAsInnerCall } from "../lib/current-call.ts";
import { parseQuery } from "./body.ts";
import type { Call, RawParameters } from "./call.ts";
import { newRequestId, type Reply } from "./envelope.ts";
import { routerPath } from "./mount.ts";
import { type Authenticate, type Operation, refuse } from "./operations.ts";
import type { AnyCaller, Route } from "./route.ts";

/** A call inside of another call. */
export interface InnerCall {
  readonly method: string;
  /** With its query, as in a request. */
  readonly path: string;
  /** The equivalent of a body; for a GET, added to the query. */
  readonly parameters: RawParameters;
  readonly idempotencyKey: unknown;
  readonly admission?: Call["admission"];
}

/** The request that contains the call. */
export type OuterCall = Pick<Call, "authorization" | "address" | "idempotencyKey" | "work">;

/** A call that is ready to run. */
export interface Dispatched {
  readonly requestId: string;
  readonly route: Route | undefined;
  /** Authenticates and answers like a separate request. Throws only Interrupted. */
  run(): Promise<DispatchedReply>;
}

export interface DispatchedReply {
  readonly reply: Reply;
  readonly caller: AnyCaller | undefined;
}

/** Calls operations with the same routing, authentication, parsing and responses as separate requests. */
export interface Dispatcher {
  /** @param outer the containing request, whose token is used */
  dispatch(inner: InnerCall, outer: OuterCall): Dispatched;
  add(operations: readonly Operation[]): void;
}

export function createDispatcher(options: {
  /** Applies revocations by other processes. */
  beginTick(): void;
  readonly authenticate: Authenticate;
  readonly headerBytesMax: number;
  readonly log: Logger;
}): Dispatcher {
  const { headerBytesMax, log } = options;
  // The same router as the server's, so that paths match identically.
  const router = createRouter({
    ignoreTrailingSlash: true,
    ignoreDuplicateSlashes: true,
    maxParamLength: headerBytesMax,
    querystringParser: (query) => ({ query }),
    onBadUrl: () => {},
  });

  /** @throws ApiError OperationNotFound, RequestTooLarge, ParameterIncorrectFormat */
  function find({ method, path }: InnerCall) {
    if (path.length > headerBytesMax) {
      throw new ApiError("RequestTooLarge", "The path and the headers together are too long.");
    }
    const found = methods.has(method) ? router.find(method as HTTPMethod, path) : null; // checked by `methods`
    if (found === null) throw new ApiError("OperationNotFound");
    const operation: Operation | null = found.store;
    if (operation === null) throw new ApiError("ParameterIncorrectFormat", "The path is not valid UTF-8.");
    if (operation.route.isBatchable === false) throw new ApiError("OperationNotFound", "A batch cannot hold this.");
    return { operation, path: found.params, query: found.searchParams["query"] ?? "" };
  }

  async function authenticate(route: Route, authorization: string | undefined): Promise<AnyCaller | undefined> {
    if (route.caller === "anyone") return undefined;
    options.beginTick();
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
      const isKept = outer.idempotencyKey !== undefined;
      const call: Call = {
        authorization,
        address,
        requestId,
        path,
        idempotencyKey: inner.idempotencyKey,
        admission: inner.admission,
        isKept,
        work: new CallWork(isKept ? undefined : outer.work?.isGone), // a stored response is for the retry, so a disconnect must not stop the work
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

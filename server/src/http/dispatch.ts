import type { Logger } from "pino";
import { ApiError } from "../errors.ts";
import { CallWork } from "../lib/call-work.ts";
import { runAsInnerCall } from "../lib/current-call.ts";
import { parseQuery } from "./body.ts";
import type { Call, RawParameters } from "./call.ts";
import { newRequestId, type Reply } from "./envelope.ts";
import { type Authenticate, refuse } from "./operations.ts";
import type { AnyCaller, Route } from "./route.ts";
import type { RouteTable } from "./route-table.ts";

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
}

export function createDispatcher(options: {
  /** Of the server, so that paths match identically. */
  readonly routeTable: RouteTable;
  /** Applies revocations by other processes. */
  beginTick(): void;
  readonly authenticate: Authenticate;
  readonly headerBytesMax: number;
  readonly log: Logger;
}): Dispatcher {
  const { routeTable, headerBytesMax, log } = options;

  /** @throws ApiError OperationNotFound, RequestTooLarge, ParameterIncorrectFormat */
  function find({ method, path }: InnerCall) {
    if (path.length > headerBytesMax) {
      throw new ApiError("RequestTooLarge", "The path and the headers together are too long.");
    }
    const found = methods.has(method) ? routeTable.find(method, path) : undefined;
    const operation = found?.target.operation;
    if (found === undefined || operation === undefined) throw new ApiError("OperationNotFound");
    if (operation.route.isBatchable === false) throw new ApiError("OperationNotFound", "A batch cannot hold this.");
    return { operation, path: found.path, query: found.query };
  }

  async function authenticate(route: Route, authorization: string | undefined): Promise<AnyCaller | undefined> {
    if (route.caller === "anyone") return undefined;
    options.beginTick();
    return options.authenticate(authorization, route.caller);
  }

  return {
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

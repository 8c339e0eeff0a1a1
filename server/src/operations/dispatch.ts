import type { Logger } from "pino";
import type { Call, RawParameters } from "../contract/call.ts";
import { type AnyCaller, type Caller, isForOperators, type Route } from "../contract/route.ts";
import { CallWork } from "../lib/call-work.ts";
import { runAsInnerCall } from "../lib/current-call.ts";
import { ApiError } from "../lib/errors.ts";
import { waitForStep } from "../limits/call-steps.ts";
import { parseQuery } from "./body-parameters.ts";
import { newRequestId, type Reply } from "./envelope.ts";
import { type Authenticate, type BoundOperation, refuse } from "./perform.ts";

/** A call within another call. */
export interface InnerCall {
  readonly method: string;
  /** With its query, as in a request. */
  readonly path: string;
  /** The equivalent of a body; for GET, added to the query. */
  readonly parameters: RawParameters;
  readonly idempotencyKey: unknown;
  readonly rehearse?: string | undefined;
  readonly admission?: Call["admission"];
}

/** The request that contains the call. */
export type OuterCall = Pick<Call, "authorization" | "address" | "language" | "idempotencyKey" | "work">;

/** A call whose operation has been found. */
export interface Dispatched {
  readonly requestId: string;
  readonly route: Route | undefined;
  /** Authenticates and answers as for a separate request. Throws only Interrupted. */
  run(): Promise<DispatchedReply>;
}

export interface DispatchedReply {
  readonly reply: Reply;
  readonly caller: AnyCaller | undefined;
}

/**
 * Finds the operation of a path and verb, as for a request.
 *
 * @param url a path with its query
 * @returns undefined for an unknown path or verb, and for a page
 * @throws ApiError ParameterIncorrectFormat if the escapes of the path are not UTF-8
 */
export type FindOperation = (method: string, url: string) => FoundOperation | undefined;

/**
 * Lists the verbs of a path. @param mayOperate false to omit verbs that are for operators only
 *
 * @throws ApiError as {@link FindOperation}
 */
export type VerbsOf = (url: string, mayOperate: boolean) => readonly string[];

/** Returns the error for a path without the requested verb. @param verbs the verbs of the path */
export function operationNotFound(verbs: readonly string[]): ApiError {
  if (verbs.length === 0) return new ApiError("OperationNotFound");
  return new ApiError("OperationNotFound", `There is no such operation. This path has ${verbs.join(", ")}.`);
}

interface FoundOperation {
  readonly operation: BoundOperation;
  /** The path parameters, unescaped, by their names in the declared path. */
  readonly path: Readonly<Record<string, string>>;
  /** The query, as sent. */
  readonly query: string;
}

/** Calls operations with the same routing, authentication, parsing and responses as for separate requests. */
export interface Dispatcher {
  /** @param outer the request that contains the call, whose token is used */
  dispatch(inner: InnerCall, outer: OuterCall): Dispatched;
  /**
   * Returns the result of a GET of this path for a client or an operator, as JSON.
   *
   * @param caller the authenticated caller of the request, or an internal caller
   * @throws ApiError
   */
  read(path: string, caller: AnyCaller, outer: OuterCall): Promise<string>;
  /**
   * Authenticates the client of a request again. @throws ApiError AuthAccessTokenInvalid if its token has expired or
   * was revoked
   */
  confirm(outer: OuterCall): Promise<Caller>;
}

export interface DispatcherOptions {
  readonly findOperation: FindOperation;
  readonly verbsOf: VerbsOf;
  /** Applies revocations by other processes. */
  beginTick(): void;
  readonly authenticate: Authenticate;
  /** Whether operators' operations are visible to an address. */
  mayOperate(address: string): boolean;
  readonly headerBytesMax: number;
  readonly log: Logger;
}

export function createDispatcher(options: DispatcherOptions): Dispatcher {
  const { findOperation, log } = options;

  async function authenticate(route: Route, authorization: string | undefined): Promise<AnyCaller | undefined> {
    if (route.caller === "anyone") return undefined;
    options.beginTick();
    return options.authenticate(authorization, route.caller);
  }

  return {
    async read(path, caller, { authorization, address, work }) {
      const found = findOperation("GET", path);
      if (found === undefined) throw new ApiError("OperationNotFound");
      const { operation } = found;
      const readParameters = () => parseQuery(found.query);
      const requestId = newRequestId();
      return operation.read(
        {
          authorization,
          address,
          requestId,
          path: found.path,
          idempotencyKey: undefined,
          readParameters,
          ...(work && { work }),
        },
        caller,
      );
    },

    async confirm({ authorization }) {
      options.beginTick();
      const caller = await options.authenticate(authorization, "device");
      if ("operatorId" in caller) throw new ApiError("AuthAccessTokenInvalid");
      return caller;
    },

    dispatch(inner, outer) {
      const requestId = newRequestId();
      let target: FoundOperation;
      try {
        target = find(inner, outer.address, options);
      } catch (error) {
        const refused = { reply: refuse(error, requestId, log), caller: undefined };
        return { requestId, route: undefined, run: async () => refused };
      }
      const { operation } = target;
      const call = callOf(inner, outer, target, requestId);
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

/** @throws ApiError OperationNotFound, RequestTooLarge, ParameterIncorrectFormat */
function find(
  { method, path }: InnerCall,
  address: string,
  { findOperation, verbsOf, headerBytesMax, ...options }: DispatcherOptions,
): FoundOperation {
  if (path.length > headerBytesMax) {
    throw new ApiError("RequestTooLarge", "The path and the headers together are too long.");
  }
  const mayOperate = options.mayOperate(address);
  const found = methods.has(method) ? findOperation(method, path) : undefined;
  if (found === undefined || (isForOperators(found.operation.route) && !mayOperate)) {
    const verbs = verbsOf(path, mayOperate);
    throw operationNotFound(verbs.includes(method) ? [] : verbs); // a page or an upload, which cannot be an item
  }
  if (found.operation.route.isBatchable === false)
    throw new ApiError("OperationNotFound", "This operation cannot be part of a batch.");
  return found;
}

function callOf(
  { parameters, idempotencyKey, rehearse, admission }: InnerCall,
  outer: OuterCall,
  { operation, path, query }: FoundOperation,
  requestId: string,
): Call {
  const { method } = operation.route;
  const { authorization, address, language } = outer;
  const isResponseStored = outer.idempotencyKey !== undefined;
  const unread: string[] = [];
  return {
    authorization,
    address,
    language,
    requestId,
    path,
    idempotencyKey,
    unread,
    rehearse,
    admission,
    isResponseStored,
    // The stored response is for a retry, so a disconnect must not stop the work.
    work: new CallWork(waitForStep, isResponseStored ? undefined : outer.work?.isGone),
    readParameters() {
      if (query === "") return parameters;
      if (method !== "GET" && method !== "DELETE") {
        for (const [name] of parseQuery(query)) unread.push(name);
        return parameters;
      }
      return [...parseQuery(query), ...parameters];
    },
  };
}

const methods: ReadonlySet<string> = new Set(["GET", "POST", "PUT", "PATCH", "DELETE"]);

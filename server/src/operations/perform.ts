import type { Logger } from "pino";
import { actorOf } from "../contract/actors.ts";
import type { Browser } from "../contract/browser.ts";
import { type Call, callWith, type RawParameters, type StoredUpload } from "../contract/call.ts";
import { ArchiveResult, FileResult } from "../contract/file-result.ts";
import { compileParameters, readParameter } from "../contract/parameters.ts";
import { requireEnabled } from "../contract/policy.ts";
import {
  type AnyCaller,
  type Caller,
  type CallerKind,
  Created,
  IdempotencyKey,
  isClient,
  isOperator,
  type OperatorCaller,
  RawResult,
  type Route,
  takesIdempotencyKey,
} from "../contract/route.ts";
import { type FindLocation, isLocationInput, resolveLocations } from "../contract/sent-locations.ts";
import { createSerializer } from "../contract/serializer.ts";
import { StreamResult } from "../contract/stream-result.ts";
import { runAs } from "../lib/current-call.ts";
import { ApiError, Interrupted } from "../lib/errors.ts";
import type { TokenBucket } from "../limits/token-buckets.ts";
import { admit, requireRole, requireRoleWithout } from "./admission.ts";
import { errorReply, type Reply, successReply, toApiError } from "./envelope.ts";
import { fingerprintOf } from "./fingerprint.ts";
import { createIgnoredNames } from "./ignored.ts";
import type { RateLimits } from "./rate-limits.ts";
import type { Rehearsals } from "./rehearsals.ts";

/**
 * Identifies the caller; throws or rejects with an ApiError.
 *
 * @param cookieCall for a request of an operator, who may have a session in a cookie
 */
export type Authenticate = (
  authorization: string | undefined,
  required: Exclude<CallerKind, "anyone">,
  cookieCall?: { readonly browser: Browser; readonly isDownload: boolean },
) => AnyCaller | Promise<AnyCaller>;

/**
 * Returns the stored response to an earlier call of this caller with this key, or runs the work.
 *
 * @param fingerprint identifies the request: equal requests have equal fingerprints
 * @throws ApiError IdempotencyKeyReused
 */
export type RunOnce = (caller: Caller, key: string, fingerprint: string, work: () => Promise<Reply>) => Promise<Reply>;

/** An action of an operator. */
export interface OperatorAction {
  readonly caller: OperatorCaller;
  readonly route: Route;
  readonly call: Call;
}

/** Records the actions of operators in the audit log. */
export interface ActionLog {
  /**
   * Runs a change and records it in the same transaction.
   *
   * @param given the values of the path and of the parameters, as they were read
   */
  record<Result>(
    action: OperatorAction,
    given: { readonly path: Readonly<Record<string, unknown>>; readonly parameters: Readonly<Record<string, unknown>> },
    work: () => Promise<Result>,
  ): Promise<Result>;
  /** Records that the action was refused to this operator. */
  noteRefusal(action: OperatorAction): Promise<void>;
}

/** An operation that is bound to its services: performs calls of HTTP, of batches and of commands. */
export interface BoundOperation {
  readonly route: Route;
  /** Answers a call of a caller of the kind that the route requires. Throws only Interrupted. */
  perform(call: Call, caller: AnyCaller | undefined): Promise<Reply>;
  /** Selects the unknown parameter names of a call that developers should notice. */
  readonly ignoredNames: ReturnType<typeof createIgnoredNames>;
  /**
   * Returns the JSON of the current result of a call without effects, inside another call that the rate limits have
   * admitted.
   *
   * @throws ApiError
   */
  read(call: Call, caller: AnyCaller): Promise<string>;
}

/**
 * Checks after a write that this region still serves the application: a write during its move may be missing from the
 * move, so its success must not be reported.
 *
 * @throws ApiError ServiceUnavailable
 */
export type RequireServed = (applicationId: string) => Promise<void>;

export interface PerformServices {
  /** Absent when applications cannot move. */
  readonly requireServed?: RequireServed | undefined;
  readonly findLocation: FindLocation;
  readonly runOnce: RunOnce;
  readonly actionLog: ActionLog;
  readonly rateLimits: RateLimits;
  /** Absent where no clients call. */
  readonly rehearsals?: Rehearsals;
  readonly log: Logger;
}

export function bindOperation(route: Route, services: PerformServices): BoundOperation {
  const bound = compile(route, services);
  return {
    route,
    ignoredNames: bound.ignoredNames,
    perform: (call, caller) => perform(bound, call, caller),
    async read(call, caller) {
      if (isClient(caller)) requireEnabled(caller.policy, route, call.path, caller);
      else requireRole(route, caller);
      const handled = await handle(bound, call, caller);
      return handled instanceof RawResult ? handled.json : bound.serialize(handled);
    },
  };
}

type Bound = ReturnType<typeof compile>;

/** Compiles the readers and the serializer of a route, once for all of its calls. */
function compile(route: Route, services: PerformServices) {
  return {
    ...services,
    route,
    readPath: compileOptional(route.pathParameters),
    readParameters: compileOptional(route.parameters),
    serialize: createSerializer(route.result),
    ignoredNames: createIgnoredNames(route),
    isKeyed: takesIdempotencyKey(route),
    takesLocations: Object.values(route.parameters?.properties ?? {}).some(isLocationInput),
  };
}

/**
 * Answers a call:
 *
 * 1. `admit`: the operation is enabled, the role suffices, the rate limit admits the call
 * 2. a rehearsal may fail the call or its answer
 * 3. `answer`: receives an upload, and runs the handler once for each idempotency key (`handle`)
 * 4. a change is confirmed only while this region serves the application
 * 5. an error becomes the response of its row
 * 6. names of ignored parameters, and the rest of the rate limit
 */
async function perform(bound: Bound, call: Call, caller: AnyCaller | undefined): Promise<Reply> {
  const { route, rateLimits, rehearsals, requireServed, actionLog, log } = bound;
  const isChange = route.method !== "GET";
  let bucket: TokenBucket | undefined;
  let reply: Reply;
  try {
    const admitted = admit(route, call, caller, rateLimits);
    bucket = admitted instanceof Promise ? await admitted : admitted;
    if (bucket !== undefined && caller !== undefined) {
      const charged = bucket;
      call.work?.belongsTo(caller, (calls) => rateLimits.charge(charged, calls));
    }
    const run =
      isChange && caller !== undefined
        ? (begun: Call) => runAs(actorOf(caller), () => answer(bound, begun, caller))
        : (begun: Call) => answer(bound, begun, caller);
    reply = await (call.rehearse === undefined || rehearsals === undefined || isOperator(caller)
      ? run(call)
      : rehearsals.rehearse(call.rehearse, route, call, caller, run));
    if (requireServed !== undefined && reply.isSuccess && isChange && isClient(caller)) {
      await requireServed(caller.applicationId);
    }
  } catch (error) {
    if (isOperator(caller) && error instanceof ApiError && error.condition === "ObjectPermissionDenied") {
      await actionLog.noteRefusal({ caller, route, call });
    }
    reply = refuse(error, call.requestId, log);
  }
  if (isClient(caller) && caller.policy.isDebugged && call.unread !== undefined) {
    reply = { ...reply, ignored: bound.ignoredNames(call.unread) };
  }
  const quota = bucket && rateLimits.quotaOf(bucket);
  return quota === undefined ? reply : { ...reply, quota };
}

/**
 * Receives the upload of a call, and answers the call, with the stored response if its idempotency key has one.
 *
 * @throws ApiError
 */
async function answer(bound: Bound, call: Call, caller: AnyCaller | undefined): Promise<Reply> {
  const { route, isKeyed, runOnce, log } = bound;
  // The bytes are stored first, because the later steps can be retried and rolled back.
  const received = route.upload === undefined ? undefined : await receive(bound, route.upload, call, caller);
  const { call: begun, file } = received ?? { call, file: undefined };
  let isTaken = false;
  try {
    let reply: Reply;
    if (call.idempotencyKey === undefined || !isKeyed || !isClient(caller)) {
      reply = replyTo(bound, await handle(bound, begun, caller, file));
    } else {
      const key = readParameter("Idempotency-Key", IdempotencyKey, call.idempotencyKey) as string; // a Text
      reply = await runOnce(caller, key, fingerprintOf(route, begun, file), () =>
        handle(bound, begun, caller, file)
          .then((handled) => replyTo(bound, handled))
          .catch((error) => refuse(error, call.requestId, log)),
      );
    }
    isTaken = reply.isSuccess && reply.isReplayed === undefined;
    return reply;
  } finally {
    if (!isTaken) await file?.discard();
  }
}

async function receive(
  { readPath }: Bound,
  upload: NonNullable<Route["upload"]>,
  call: Call,
  caller: AnyCaller | undefined,
): Promise<{ call: Call; file: StoredUpload }> {
  if (call.receive === undefined) throw new ApiError("OperationNotFound"); // uploads cannot be part of a batch
  readPath(Object.entries(call.path)); // rejects an invalid path before the upload arrives
  // The caller is of the kind that the route requires.
  const { file, parameters } = await call.receive((part) => upload.store(caller as never, part, call));
  return { call: callWith(call, { readParameters: parameters }), file };
}

/** Reads the parameters and runs the handler; changes of operators are recorded in the same transaction. */
async function handle(
  { route, readPath, readParameters, takesLocations, findLocation, actionLog }: Bound,
  call: Call,
  caller: AnyCaller | undefined,
  file?: StoredUpload,
) {
  const path = readPath(Object.entries(call.path));
  const read = readParameters(call.readParameters(), call.unread);
  if (isOperator(caller)) requireRoleWithout(route, caller, read);
  const parameters = takesLocations
    ? await resolveLocations(read, isClient(caller) ? caller : undefined, findLocation)
    : read;
  const input = { path, parameters, call, file: file as never }; // stored by this route, or undefined
  if (caller === undefined && route.download !== undefined) return route.download.handleSigned(input);
  const work = () => route.handle({ ...input, caller: caller as never }); // of the kind that the route requires
  return isOperator(caller) && route.method !== "GET" ? actionLog.record({ caller, route, call }, input, work) : work();
}

function replyTo({ route, serialize }: Bound, handled: Awaited<ReturnType<typeof handle>>): Reply {
  if (handled instanceof FileResult || handled instanceof ArchiveResult) {
    return { ...successReply(200, "null"), file: handled };
  }
  if (handled instanceof StreamResult) return { ...successReply(200, "null"), stream: handled };
  if (handled instanceof RawResult) return successReply(route.status, handled.json);
  if (handled instanceof Created) return successReply(201, serialize(handled.result));
  return successReply(route.status, serialize(handled));
}

/** The response to a failed call; internal errors are also logged. @throws Interrupted */
export function refuse(error: unknown, requestId: string, log: Logger): Reply {
  if (error instanceof Interrupted) throw error;
  const failure = toApiError(error);
  if (failure.condition === "InternalError") {
    log.error({ request_id: requestId, err: failure.cause ?? failure }, "request failed");
  }
  return errorReply(failure);
}

function compileOptional(
  shape: Route["parameters"],
): (raw: RawParameters, unread?: string[]) => Record<string, unknown> {
  if (shape !== undefined) return compileParameters(shape);
  return (raw, unread) => {
    if (unread !== undefined) for (const [name] of raw) unread.push(name);
    return {};
  };
}

import { createHash } from "node:crypto";
import type { Logger } from "pino";
import { ApiError, Interrupted } from "../errors.ts";
import { mayDo } from "../lib/roles.ts";
import type { TokenBucket } from "../lib/token-buckets.ts";
import type { Call, RawParameters, StoredUpload } from "./call.ts";
import { errorReply, type Reply, successReply, toApiError } from "./envelope.ts";
import { ArchiveResult, FileResult } from "./file-result.ts";
import { compileParameters, readParameter } from "./parameters.ts";
import { requireEnabled } from "./policy.ts";
import type { RateLimits } from "./rate-limits.ts";
import {
  type AnyCaller,
  type Caller,
  type CallerKind,
  Created,
  IdempotencyKey,
  type OperatorCaller,
  RawResult,
  type Route,
  roleOf,
  takesIdempotencyKey,
} from "./route.ts";
import { createSerializer } from "./serializer.ts";

/** Finds out who is calling; throws or rejects with an ApiError. */
export type Authenticate = (
  authorization: string | undefined,
  required: Exclude<CallerKind, "anyone">,
) => AnyCaller | Promise<AnyCaller>;

/**
 * Answers a call with what was answered to an earlier one of this caller with this key, or else by doing the work.
 *
 * @param fingerprint the same for calls that ask for the same
 * @throws ApiError IdempotencyKeyReused
 */
export type RunOnce = (caller: Caller, key: string, fingerprint: string, work: () => Promise<Reply>) => Promise<Reply>;

/** What an operator asks for. */
export interface OperatorAction {
  readonly caller: OperatorCaller;
  readonly route: Route;
  readonly call: Call;
}

/** Remembers what operators do. */
export interface Trail {
  /**
   * Does what changes something, and remembers it with the change: either both are there, or neither.
   *
   * @param given the values of the path and of the parameters, as they were read
   */
  record<Result>(
    action: OperatorAction,
    given: { readonly path: Readonly<Record<string, unknown>>; readonly parameters: Readonly<Record<string, unknown>> },
    work: () => Promise<Result>,
  ): Promise<Result>;
  /** Remembers that it was refused to this operator. */
  noteRefusal(action: OperatorAction): Promise<void>;
}

/** A declared operation, ready to be called, by HTTP or in a batch. */
export interface Operation {
  readonly route: Route;
  /** Answers a caller of the kind that the route requires: first the parameters are read, then it is handled. Only throws Interrupted. */
  perform(call: Call, caller: AnyCaller | undefined): Promise<Reply>;
}

/**
 * Makes sure that an application is served here still, after something was written: what is written while it moves away
 * may not move with it, and must not be answered.
 *
 * @throws ApiError ServiceUnavailable
 */
export type RequireServed = (applicationId: string) => Promise<void>;

/** Makes operations of declarations. */
export function createOperation(
  route: Route,
  services: {
    /** Absent where no application can move. */
    readonly requireServed?: RequireServed | undefined;
    readonly runOnce: RunOnce;
    readonly trail: Trail;
    readonly rateLimits: RateLimits;
    readonly log: Logger;
  },
): Operation {
  const { requireServed, runOnce, trail, rateLimits, log } = services;
  const readPath = compileOptional(route.pathParameters);
  const readParameters = compileOptional(route.parameters);
  const serialize = createSerializer(route.result);
  const isKeyed = takesIdempotencyKey(route);

  async function answer(call: Call, caller: AnyCaller | undefined, file?: StoredUpload): Promise<Reply> {
    const input = {
      path: readPath(Object.entries(call.path)),
      parameters: readParameters(call.readParameters()),
      call,
      file: file as never, // what this very route has stored, and undefined where it stores nothing
    };
    const isSigned = caller === undefined && route.download !== undefined;
    const handle = () => route.handle({ ...input, caller: caller as never }); // of the kind that the route requires: whoever calls this has seen to it
    const isRecorded = isOperator(caller) && route.method !== "GET";
    const handled = isSigned
      ? await route.download.handleSigned(input)
      : await (isRecorded ? trail.record({ caller, route, call }, input, handle) : handle());
    if (handled instanceof FileResult || handled instanceof ArchiveResult) {
      return { ...successReply(200, "null"), file: handled };
    }
    if (handled instanceof RawResult) return successReply(route.status, handled.json);
    if (handled instanceof Created) return successReply(201, serialize(handled.result));
    return successReply(route.status, serialize(handled));
  }

  async function answerOnce(call: Call, caller: AnyCaller | undefined, file?: StoredUpload): Promise<Reply> {
    if (call.idempotencyKey === undefined || !isKeyed || !isClient(caller)) return answer(call, caller, file);
    const key = readParameter("Idempotency-Key", IdempotencyKey, call.idempotencyKey) as string; // as Text reads
    return runOnce(caller, key, fingerprintOf(route, call, file), () =>
      answer(call, caller, file).catch((error) => refuse(error, call.requestId, log)),
    );
  }

  /** First the bytes are stored: what comes then can be done again, and undone. */
  async function answerUpload(
    upload: NonNullable<Route["upload"]>,
    call: Call,
    caller: AnyCaller | undefined,
  ): Promise<Reply> {
    if (call.receive === undefined) throw new ApiError("OperationNotFound"); // no batch gets here
    readPath(Object.entries(call.path)); // before anything arrives that it could not belong to
    const { file, parameters } = await call.receive((part) => upload.store(caller as never, part, call)); // as `answer`
    let isTaken = false;
    try {
      const reply = await answerOnce({ ...call, readParameters: parameters }, caller, file);
      isTaken = reply.isSuccess && reply.isReplayed === undefined;
      return reply;
    } finally {
      if (!isTaken) await file.discard();
    }
  }

  /** @returns what the caller has left */
  function admit(call: Call, caller: AnyCaller | undefined): TokenBucket | undefined {
    const { admission } = call;
    if (admission?.isAdmitted) return undefined;
    if (isClient(caller)) requireEnabled(caller.policy, route, call.path, caller);
    if (isOperator(caller)) requireRole(route, caller);
    const bucket = rateLimits.admit(route, call, caller);
    if (admission !== undefined) admission.isAdmitted = true;
    return bucket;
  }

  return {
    route,
    async perform(call, caller) {
      let bucket: TokenBucket | undefined;
      let reply: Reply;
      try {
        bucket = admit(call, caller);
        reply = await (route.upload === undefined
          ? answerOnce(call, caller)
          : answerUpload(route.upload, call, caller));
        if (requireServed !== undefined && reply.isSuccess && route.method !== "GET" && isClient(caller)) {
          await requireServed(caller.applicationId);
        }
      } catch (error) {
        if (isOperator(caller) && error instanceof ApiError && error.condition === "ObjectPermissionDenied") {
          await trail.noteRefusal({ caller, route, call });
        }
        reply = refuse(error, call.requestId, log);
      }
      const quota = bucket && rateLimits.quotaOf(bucket);
      return quota === undefined ? reply : { ...reply, quota };
    },
  };
}

/** @throws ApiError ObjectPermissionDenied */
function requireRole(route: Route, { role }: OperatorCaller): void {
  const required = roleOf(route);
  if (!mayDo(role, required)) throw new ApiError("ObjectPermissionDenied", `This takes the role ${required}.`);
}

/** The answer to a call that failed; of a fault of ours the log tells more. @throws Interrupted */
export function refuse(error: unknown, requestId: string, log: Logger): Reply {
  if (error instanceof Interrupted) throw error;
  const failure = toApiError(error);
  if (failure.condition === "InternalError") {
    log.error({ request_id: requestId, err: failure.cause ?? failure }, "request failed");
  }
  return errorReply(failure);
}

function isOperator(caller: AnyCaller | undefined): caller is OperatorCaller {
  return caller !== undefined && "operatorId" in caller;
}

function isClient(caller: AnyCaller | undefined): caller is Caller {
  return caller !== undefined && "applicationId" in caller;
}

function compileOptional(shape: Route["parameters"]): (raw: RawParameters) => Record<string, unknown> {
  return shape === undefined ? () => ({}) : compileParameters(shape);
}

/** The same for calls of one operation with the same parameters, in whatever order, in a batch or not. */
function fingerprintOf(route: Route, call: Call, file?: StoredUpload): string {
  const asked = [route.operation, call.path, parametersOf(call), ...(file === undefined ? [] : [file.digest])];
  let text: string;
  try {
    text = JSON.stringify(asked, writeNumber);
  } catch (cause) {
    throw new ApiError("ParameterIncorrectFormat", "The parameters are nested too deep.", { cause });
  }
  return createHash("sha256").update(text).digest("base64url");
}

function parametersOf(call: Call): unknown {
  try {
    return [...call.readParameters()].sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0));
  } catch (error) {
    return String(error); // it is refused, whatever it is
  }
}

/**
 * A long integer and a number that is too large, which JSON does not know, as texts that no other value is written as: a
 * text like them gets one more letter.
 */
function writeNumber(_name: string, value: unknown): unknown {
  if (typeof value === "bigint" || value === Infinity || value === -Infinity) return `${value}n`;
  return typeof value === "string" && /^-?(\d+|Infinity)n+$/.test(value) ? `${value}n` : value;
}

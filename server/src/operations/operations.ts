import { createHash } from "node:crypto";
import type { Logger } from "pino";
import { mayDo, type OperatorRole } from "../config/roles.ts";
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
  type OperatorCaller,
  RawResult,
  type Route,
  roleOf,
  takesIdempotencyKey,
} from "../contract/route.ts";
import { type FindLocation, isLocationInput, resolveLocations } from "../contract/sent-locations.ts";
import { createSerializer } from "../contract/serializer.ts";
import { StreamResult } from "../contract/stream-result.ts";
import { runAs } from "../lib/current-call.ts";
import { ApiError, Interrupted } from "../lib/errors.ts";
import type { TokenBucket } from "../lib/token-buckets.ts";
import { errorReply, type Reply, successReply, toApiError } from "./envelope.ts";
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

/** A declared operation that can be called over HTTP or in a batch. */
export interface Operation {
  readonly route: Route;
  /**
   * Reads the parameters and runs the handler, for a caller of the kind that the route requires. Throws only
   * Interrupted.
   */
  perform(call: Call, caller: AnyCaller | undefined): Promise<Reply>;
  /** Selects the unknown parameter names of a call that developers should notice. */
  readonly ignoredNames: ReturnType<typeof createIgnoredNames>;
  /**
   * Returns the JSON of the current result of a call without effects, as a part of another call that the rate limits
   * have admitted.
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

/** Creates an operation from its declaration. */
export function createOperation(
  route: Route,
  services: {
    /** Absent when applications cannot move. */
    readonly requireServed?: RequireServed | undefined;
    readonly findLocation: FindLocation;
    readonly runOnce: RunOnce;
    readonly actionLog: ActionLog;
    readonly rateLimits: RateLimits;
    /** Absent where no clients call. */
    readonly rehearsals?: Rehearsals;
    readonly log: Logger;
  },
): Operation {
  const { requireServed, findLocation, runOnce, actionLog, rateLimits, rehearsals, log } = services;
  const readPath = compileOptional(route.pathParameters);
  const readParameters = compileOptional(route.parameters);
  const serialize = createSerializer(route.result);
  const ignoredNames = createIgnoredNames(route);
  const isKeyed = takesIdempotencyKey(route);
  const takesLocations = Object.values(route.parameters?.properties ?? {}).some(isLocationInput);

  async function run(call: Call, caller: AnyCaller | undefined, file?: StoredUpload) {
    const path = readPath(Object.entries(call.path));
    const read = readParameters(call.readParameters(), call.unread);
    if (isOperator(caller)) requireRoleWithout(route, caller, read);
    const reader = isClient(caller) ? caller : undefined;
    const input = {
      path,
      parameters: takesLocations ? await resolveLocations(read, reader, findLocation) : read,
      call,
      file: file as never, // stored by this route, or undefined
    };
    const isSigned = caller === undefined && route.download !== undefined;
    const handle = () => route.handle({ ...input, caller: caller as never }); // the caller is of the kind that the route requires, which `perform` demands
    const isRecorded = isOperator(caller) && route.method !== "GET";
    if (isSigned) return route.download.handleSigned(input);
    return isRecorded ? actionLog.record({ caller, route, call }, input, handle) : handle();
  }

  async function answer(call: Call, caller: AnyCaller | undefined, file?: StoredUpload): Promise<Reply> {
    const handled = await run(call, caller, file);
    if (handled instanceof FileResult || handled instanceof ArchiveResult) {
      return { ...successReply(200, "null"), file: handled };
    }
    if (handled instanceof StreamResult) return { ...successReply(200, "null"), stream: handled };
    if (handled instanceof RawResult) return successReply(route.status, handled.json);
    if (handled instanceof Created) return successReply(201, serialize(handled.result));
    return successReply(route.status, serialize(handled));
  }

  async function answerOnce(call: Call, caller: AnyCaller | undefined, file?: StoredUpload): Promise<Reply> {
    if (call.idempotencyKey === undefined || !isKeyed || !isClient(caller)) return answer(call, caller, file);
    const key = readParameter("Idempotency-Key", IdempotencyKey, call.idempotencyKey) as string; // a Text
    return runOnce(caller, key, fingerprintOf(route, call, file), () =>
      answer(call, caller, file).catch((error) => refuse(error, call.requestId, log)),
    );
  }

  function answerAny(call: Call, caller: AnyCaller | undefined): Promise<Reply> {
    return route.upload === undefined ? answerOnce(call, caller) : answerUpload(route.upload, call, caller);
  }

  /** Stores the bytes first, because the later steps can be retried and undone. */
  async function answerUpload(
    upload: NonNullable<Route["upload"]>,
    call: Call,
    caller: AnyCaller | undefined,
  ): Promise<Reply> {
    if (call.receive === undefined) throw new ApiError("OperationNotFound"); // uploads cannot be part of a batch
    readPath(Object.entries(call.path)); // rejects an invalid path before the upload arrives
    const { file, parameters } = await call.receive((part) => upload.store(caller as never, part, call)); // a caller of the right kind, as in `answer`
    let isTaken = false;
    try {
      const reply = await answerOnce(callWith(call, { readParameters: parameters }), caller, file);
      isTaken = reply.isSuccess && reply.isReplayed === undefined;
      return reply;
    } finally {
      if (!isTaken) await file.discard();
    }
  }

  return {
    route,
    ignoredNames,
    async read(call, caller) {
      if (isClient(caller)) requireEnabled(caller.policy, route, call.path, caller);
      else requireRole(route, caller);
      const handled = await run(call, caller);
      return handled instanceof RawResult ? handled.json : serialize(handled);
    },
    async perform(call, caller) {
      let bucket: TokenBucket | undefined;
      let reply: Reply;
      try {
        const admitted = admit(route, call, caller, rateLimits);
        bucket = admitted instanceof Promise ? await admitted : admitted;
        if (bucket !== undefined && caller !== undefined) call.work?.belongsTo(caller, bucket, rateLimits);
        const { rehearse } = call;
        const isChange = route.method !== "GET" && caller !== undefined;
        const answerIt = isChange
          ? (begun: Call) => runAs(actorOf(caller), () => answerAny(begun, caller))
          : (begun: Call) => answerAny(begun, caller);
        reply = await (rehearse === undefined || rehearsals === undefined || isOperator(caller)
          ? answerIt(call)
          : rehearsals.rehearse(rehearse, route, call, caller, answerIt));
        if (requireServed !== undefined && reply.isSuccess && route.method !== "GET" && isClient(caller)) {
          await requireServed(caller.applicationId);
        }
      } catch (error) {
        if (isOperator(caller) && error instanceof ApiError && error.condition === "ObjectPermissionDenied") {
          await actionLog.noteRefusal({ caller, route, call });
        }
        reply = refuse(error, call.requestId, log);
      }
      if (isClient(caller) && caller.policy.isDebugged && call.unread !== undefined) {
        reply = { ...reply, ignored: ignoredNames(call.unread) };
      }
      const quota = bucket && rateLimits.quotaOf(bucket);
      return quota === undefined ? reply : { ...reply, quota };
    },
  };
}

/** @returns the caller's bucket, for the rest of its rate limit */
function admit(
  route: Route,
  call: Call,
  caller: AnyCaller | undefined,
  rateLimits: RateLimits,
): ReturnType<RateLimits["admit"]> {
  const { admission } = call;
  if (admission?.isAdmitted) return undefined;
  if (isClient(caller)) requireEnabled(caller.policy, route, call.path, caller);
  if (isOperator(caller)) requireRole(route, caller);
  const admitted = rateLimits.admit(route, call, caller);
  if (admission === undefined) return admitted;
  if (!(admitted instanceof Promise)) {
    admission.isAdmitted = true;
    return admitted;
  }
  return admitted.then((bucket) => {
    admission.isAdmitted = true;
    return bucket;
  });
}

/** @throws ApiError AuthPasswordChangeRequired, ObjectPermissionDenied, AuthReauthenticationRequired */
function requireRole(route: Route, { role, mustChangePassword, mustProve }: OperatorCaller): void {
  if (mustChangePassword && route.withFirstPassword !== true) throw new ApiError("AuthPasswordChangeRequired");
  requireAtLeast(roleOf(route), role);
  if (route.proof === "recent" && mustProve === true) {
    throw new ApiError("AuthReauthenticationRequired", undefined, { methods: ["password"] });
  }
}

/** @throws ApiError ObjectPermissionDenied */
function requireRoleWithout({ roleWithout }: Route, { role }: OperatorCaller, read: Record<string, unknown>): void {
  if (roleWithout === undefined || read[roleWithout.parameter] !== undefined) return;
  requireAtLeast(roleWithout.role, role);
}

/** @throws ApiError ObjectPermissionDenied */
function requireAtLeast(required: OperatorRole, role: OperatorRole): void {
  if (!mayDo(role, required)) throw new ApiError("ObjectPermissionDenied", `This requires the role ${required}.`);
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

function isOperator(caller: AnyCaller | undefined): caller is OperatorCaller {
  return caller !== undefined && "operatorId" in caller;
}

function isClient(caller: AnyCaller | undefined): caller is Caller {
  return caller !== undefined && "applicationId" in caller;
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

/** Identifies a call: equal for the same operation and parameters, in any order, inside or outside of a batch. */
function fingerprintOf(route: Route, call: Call, file?: StoredUpload): string {
  const asked = [
    route.operation,
    call.path,
    parametersOf(call, route.sendingTime),
    ...(file === undefined ? [] : [file.digest]),
  ];
  let text: string;
  try {
    text = JSON.stringify(asked, writeNumber);
  } catch (cause) {
    throw new ApiError("ParameterIncorrectFormat", "The parameters are nested too deep.", { cause });
  }
  return createHash("sha256").update(text).digest("base64url");
}

/** @param left the name of a parameter that is left out */
function parametersOf(call: Call, left: string | undefined): unknown {
  try {
    const read = [...call.readParameters()];
    const parameters = left === undefined ? read : read.filter(([name]) => name.toLowerCase() !== left.toLowerCase());
    return parameters.sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0));
  } catch (error) {
    return String(error); // an invalid value, which is refused in any case
  }
}

/**
 * Encodes bigints and infinite numbers, which JSON lacks, as texts. A text that looks like an encoded one gets another
 * letter, so that the encoding stays unique.
 */
function writeNumber(_name: string, value: unknown): unknown {
  if (typeof value === "bigint" || value === Infinity || value === -Infinity) return `${value}n`;
  return typeof value === "string" && /^-?(\d+|Infinity)n+$/.test(value) ? `${value}n` : value;
}

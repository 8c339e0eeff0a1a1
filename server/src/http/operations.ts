import { createHash } from "node:crypto";
import type { Logger } from "pino";
import { ApiError, Interrupted } from "../errors.ts";
import type { Call, RawParameters, StoredUpload } from "./call.ts";
import { errorReply, type Reply, successReply, toApiError } from "./envelope.ts";
import { ArchiveResult, FileResult } from "./file-result.ts";
import { compileParameters, readParameter } from "./parameters.ts";
import { requireEnabled } from "./policy.ts";
import {
  type AnyCaller,
  type Caller,
  type CallerKind,
  Created,
  RawResult,
  type Route,
  takesIdempotencyKey,
} from "./route.ts";
import { createSerializer } from "./serializer.ts";
import { Text } from "./wire.ts";

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

/** A declared operation, ready to be called, by HTTP or in a batch. */
export interface Operation {
  readonly route: Route;
  /** Answers a caller of the kind that the route requires: first the parameters are read, then it is handled. Only throws Interrupted. */
  perform(call: Call, caller: AnyCaller | undefined): Promise<Reply>;
}

/** Makes operations of declarations. */
export function createOperation(route: Route, { runOnce, log }: { runOnce: RunOnce; log: Logger }): Operation {
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
    const handled = isSigned
      ? await route.download.handleSigned(input)
      : await route.handle({ ...input, caller: caller as never }); // of the kind that the route requires: whoever calls this has seen to it
    if (handled instanceof FileResult || handled instanceof ArchiveResult)
      return { ...successReply(200, "null"), file: handled };
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

  return {
    route,
    async perform(call, caller) {
      try {
        if (isClient(caller)) requireEnabled(caller.policy, route, call.path);
        if (route.upload !== undefined) return await answerUpload(route.upload, call, caller);
        return await answerOnce(call, caller);
      } catch (error) {
        return refuse(error, call.requestId, log);
      }
    },
  };
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

function isClient(caller: AnyCaller | undefined): caller is Caller {
  return caller !== undefined && "applicationId" in caller;
}

function compileOptional(shape: Route["parameters"]): (raw: RawParameters) => Record<string, unknown> {
  return shape === undefined ? () => ({}) : compileParameters(shape);
}

const IdempotencyKey = Text({ minLength: 1, maxLength: 255 });

/** The same for calls of one operation with the same parameters, in whatever order, in a batch or not. */
function fingerprintOf(route: Route, call: Call, file?: StoredUpload): string {
  const asked = [route.operation, call.path, parametersOf(call), ...(file === undefined ? [] : [file.digest])];
  let text: string;
  try {
    text = JSON.stringify(asked, writeLongIntegers);
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

function writeLongIntegers(_name: string, value: unknown): unknown {
  return typeof value === "bigint" ? `${value}n` : value;
}

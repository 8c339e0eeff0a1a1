import type { Log } from "../config/log.ts";
import type { Call, RawParameters } from "../contract/call.ts";
import { compileParameters } from "../contract/parameters.ts";
import { RawResult } from "../contract/route.ts";
import { Type } from "../contract/schema.ts";
import { IdInput, Text } from "../contract/wire.ts";
import type { Database } from "../db/database.ts";
import { logLine } from "../http/request-log.ts";
import type { AnsweredCall } from "../http/request-observer.ts";
import { ApiError } from "../lib/errors.ts";
import { fieldsOf } from "../lib/fields.ts";
import { writeJson } from "../lib/json.ts";
import type { BoundOperation } from "../operations/perform.ts";
import type { RegionCalls } from "./regions.calls.ts";
import type { MessageHandler } from "./regions.endpoint.ts";
import type { Regions } from "./regions.ts";

/** Forwards a registration to the region of the application. */
export interface RemoteRegistration {
  /**
   * @param region the recorded region of the application
   * @returns the answer of that region
   * @throws ApiError as thrown by that region; ServiceUnavailable
   */
  register(region: string, appid: string, call: Call): Promise<RawResult>;
}

/** A moved application is one hop away; it may move again during the call. */
const hopsMax = 3;

export function createRemoteRegistration(services: {
  readonly regions: Regions;
  readonly regionCalls: RegionCalls;
  readonly database: Database;
}): RemoteRegistration {
  const { regions, regionCalls, database } = services;

  /** Asks one region after the other. Regions do not forward these calls themselves, which prevents loops. */
  async function ask(first: string, appid: string, call: Call): Promise<string> {
    const { address, requestId } = call;
    const message = { appid, address, requestId, parameters: [...serializable(call.readParameters())] };
    let region = first;
    for (let hops = 0; hops < hopsMax; hops += 1) {
      const answer = readAnswer(await regionCalls.call(region, "registerDevice", message));
      if (answer.result !== undefined) return answer.result;
      if (answer.movedTo === undefined || regions.rootOf(answer.movedTo) === undefined) break;
      region = answer.movedTo;
      if (region === regions.own) break; // the application is moving
    }
    throw new ApiError("ServiceUnavailable", "The application is moving to another region. Try again.");
  }

  return {
    async register(region, appid, call) {
      if (call.isResponseStored) {
        const rule = `a batch with an Idempotency-Key, whose answer is kept, cannot register with the region ${region}`;
        throw new ApiError("ParameterOutOfRange", `appid: ${rule}.`, { serviceRoot: regions.rootOf(region) });
      }
      call.forgetAddress?.();
      // Runs once and outside of any transaction, because the other region may take long and its effects remain.
      const json = await database.outsideTransaction(
        `register with ${region} for ${appid}`,
        () => ask(region, appid, call),
        {
          hasEffect: true,
        },
      );
      return new RawResult(json);
    },
  };
}

/** Answers registrations that other regions forward. */
export function registrationHandler({
  regions,
  log,
  logSample,
  onAnswered,
  findOperation,
}: {
  readonly regions: Regions;
  readonly log: Log;
  readonly logSample: number;
  /** Receives each registration that was answered. */
  onAnswered(call: AnsweredCall): void;
  findOperation(name: string): BoundOperation | undefined;
}): MessageHandler {
  const readMessage = compileParameters(Registration);
  return {
    takes: "message",
    async answer(message) {
      const { appid, address = "", requestId } = readMessage(Object.entries(Object(message)));
      const movedTo = await regions.hostOf(appid);
      if (movedTo !== undefined) return { movedTo };
      const operation = findOperation("registerDevice");
      if (operation === undefined) throw new ApiError("OperationNotFound");
      const { parameters } = fieldsOf(message);
      let applicationId: string | undefined;
      const call: Call = {
        requestId,
        address,
        authorization: undefined,
        idempotencyKey: undefined,
        path: {},
        isForwarded: true,
        countFor(id) {
          applicationId = id;
        },
        readParameters: () => readPairs(parameters),
      };
      const began = performance.now();
      const { failure, content, status } = await operation.perform(call, undefined);
      const { route } = operation;
      const ms = performance.now() - began;
      const { operation: name, method, path } = route;
      const asked = { requestId, at: Date.now(), method, path, address };
      const answered = { ...asked, operation: name, status, failure, ms, caller: undefined, applicationId };
      onAnswered(answered);
      logLine(log, answered, logSample);
      if (failure !== undefined) throw failure;
      return { result: content.slice(resultMember.length) };
    },
  };
}

/** The beginning of a successful response body (`api/envelope.ts`). */
const resultMember = `"result":`;

const Registration = Type.Object({
  appid: IdInput("App"),
  address: Type.Optional(Text({ maxLength: 64 })), // Skips the values that JSON cannot represent. No operation accepts such values: a parameter of this operation with one was refused before.
  requestId: Text({ maxLength: 64 }),
});

/**
 * Keeps the values that JSON can represent. No operation accepts others: they were refused if a parameter of this
 * operation.
 */
function* serializable(parameters: RawParameters): Generator<readonly [name: string, value: unknown]> {
  for (const [name, value] of parameters) {
    if (typeof value !== "symbol" && !("problem" in writeJson(value))) yield [name, value];
  }
}

function readPairs(pairs: unknown): RawParameters {
  const list: unknown[] = Array.isArray(pairs) ? pairs : [];
  return list.map((pair) => {
    const [name, value]: unknown[] = Array.isArray(pair) ? pair : [];
    return [`${name}`, value] as const;
  });
}

function readAnswer(answer: unknown): { readonly result?: string | undefined; readonly movedTo?: string | undefined } {
  const { result, movedTo } = fieldsOf(answer);
  return {
    result: typeof result === "string" ? result : undefined,
    movedTo: typeof movedTo === "string" ? movedTo : undefined,
  };
}

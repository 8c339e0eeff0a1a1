import { newUuid } from "../lib/uuid.ts";
import { type Failure, judgeAnswer } from "../transport/answer.ts";
import { decodeResult } from "../transport/decode.ts";
import type { CallOptions, Sent } from "../transport/options.ts";
import type { Pace } from "../transport/transport.ts";
import type { BatchableCall, Call } from "../wire/call.ts";
import { define } from "../wire/define.ts";
import { encodeParameters } from "../wire/encode.ts";
import { ConfigurationError, describeCall, RollcallError } from "../wire/errors.ts";
import { createReferences, type Refs, type Replacement, type Target } from "./references.ts";

/** `independent`: a failure stops nothing. `sequential`: it stops the items after it. `atomic`: all or nothing. */
export type BatchMode = "independent" | "sequential" | "atomic";

export interface BatchOptions {
  /** `independent` by default. */
  readonly mode?: BatchMode;
}

/** One call of a batch. */
export interface Item<T> {
  /** Members of its result, for the ids and parameters of items that are added later. */
  readonly ref: Refs<T>;
  readonly call: BatchableCall<T>;
}

/** How one call of a batch went. */
export type ItemOutcome<T> =
  | { readonly ok: true; readonly value: T }
  | { readonly ok: false; readonly error: RollcallError };

export interface BatchResults {
  /** The result of an item. @throws its error */
  get<T>(item: Item<T>): T;
  outcome<T>(item: Item<T>): ItemOutcome<T>;
}

/** Calls that are sent in one request. */
export interface Batch {
  add<T>(call: BatchableCall<T>): Item<T>;
  /** Resolves whatever the items answered; rejects with BatchFailed in mode `atomic` if one of them failed. */
  send(options?: CallOptions): Promise<BatchResults>;
}

/** An atomic batch was not done, because an item failed. */
export class BatchFailed extends RollcallError {
  static override readonly kind: string = "BatchFailed";
  /** The error of each item. */
  readonly results: BatchResults;

  constructor(message: string, results: BatchResults, cause: RollcallError) {
    const { outcome, isRetryable, attempts } = cause;
    super(message, { cause, outcome, isRetryable, attempts });
    this.results = results;
  }
}

/** What a batch needs of its client. */
export interface BatchSender {
  readonly pace: Pace;
  send<T>(call: Call<T>, options: CallOptions): Sent<T>;
}

/** An item with what is known of it. */
interface Entry {
  readonly call: BatchableCall<unknown>;
  readonly index: number;
  readonly idempotencyKey: string | undefined;
  /** The encoded parameters, with references that are not replaced yet. */
  readonly parameters: Readonly<Record<string, unknown>>;
  readonly needs: readonly Target[];
  attempts: number;
  /** Answers of InternalError, after which one repeat may help. */
  errors: number;
  /** As on the wire, for references. */
  result?: unknown;
  outcome?: ItemOutcome<unknown>;
  failure?: Failure;
}

interface BatchAnswer {
  readonly responses: readonly Readonly<Record<string, unknown>>[];
}

/** What an item answers that cannot be sent. */
const notRun = {
  status: 424,
  error: "BatchItemNotRun",
  errorNumber: 1286,
  message: "An item that it needs has failed.",
  request_id: "",
  success: false,
};
const itemsMax = 200;
const bytesMax = 900 * 1024;
/** Its items have keys of their own, so that a repeat of the whole does nothing twice. */
const runBatch: (fields: object) => Call<BatchAnswer> = /* @__PURE__ */ define("runBatch", "POST /batch", "dprs");
/** The same, with items that need a user. */
const runUserBatch: typeof runBatch = /* @__PURE__ */ define("runBatch", "POST /batch", "prs");

export function createBatch(sender: BatchSender, { mode = "independent" }: BatchOptions = {}): Batch {
  const references = createReferences();
  const entries: Entry[] = [];
  const indexes = new Map<Item<unknown>, number>();

  function outcomeOf<T>(item: Item<T>): ItemOutcome<T> {
    const outcome = entries[indexes.get(item) ?? -1]?.outcome;
    if (outcome === undefined) throw new ConfigurationError("ConfigurationError: the item is not of this batch");
    // The item carries the type of its result.
    return outcome as ItemOutcome<T>;
  }

  const results: BatchResults = {
    outcome: outcomeOf,
    get(item) {
      const outcome = outcomeOf(item);
      if (outcome.ok) return outcome.value;
      throw outcome.error;
    },
  };

  function replacementIn(piece: readonly Entry[]): (target: Target) => Replacement {
    return ({ index, member }) => {
      if (piece.some((entry) => entry.index === index)) return { reference: `{{${index}.result.${member}}}` };
      return { value: Object(entries[index]?.result)[member] };
    };
  }

  function bodyOf(piece: readonly Entry[]): object {
    const replacementOf = replacementIn(piece);
    const hasReferences = piece.some(({ needs }) =>
      needs.some(({ index }) => piece.some((entry) => entry.index === index)),
    );
    const requests = piece.map(({ call, index, idempotencyKey, parameters, needs }) => ({
      key: `${index}`,
      method: call.operation.method,
      path: needs.length > 0 ? references.replaceInPath(call.path, replacementOf) : call.path,
      parameters:
        needs.length > 0 || hasReferences ? references.replace(parameters, replacementOf, hasReferences) : parameters,
      idempotencyKey,
    }));
    return { mode, ...(hasReferences && { references: true }), requests };
  }

  /** The first entries that fit into one request. */
  function takePiece(waiting: Entry[]): Entry[] {
    const piece: Entry[] = [];
    let bytes = 100;
    for (const entry of waiting) {
      bytes += sizeOf(bodyOf([entry]));
      if (piece.length === itemsMax || (bytes > bytesMax && piece.length > 0)) break;
      piece.push(entry);
    }
    return piece;
  }

  function settle(entry: Entry, response: Readonly<Record<string, unknown>>, attempts: number): void {
    const { call, idempotencyKey } = entry;
    const { operation } = call;
    const isKeyed = idempotencyKey !== undefined || operation.isRepeatable;
    const repeatability = operation.method === "GET" ? "read" : isKeyed ? "keyed" : "plain";
    const judged = judgeAnswer(call, repeatability, { status: 500, headers: new Headers() }, JSON.stringify(response));
    entry.attempts += attempts;
    delete entry.failure;
    if (judged.isSuccess) {
      entry.result = judged.result;
      entry.outcome = { ok: true, value: decodeResult(judged.result) };
      return;
    }
    entry.failure = judged;
    if (judged.repeats === "once") entry.errors += 1;
    const error = judged.create({
      call: describeCall(call),
      attempts: entry.attempts,
      idempotencyKey,
      outcome: judged.mayBeDone ? "unknown" : "none",
      isRetryable: judged.repeats !== "no",
    });
    entry.outcome = { ok: false, error };
  }

  /** Fails the entries that need the result of another one that has none. Returns the others. */
  function withoutUnmet(waiting: readonly Entry[]): Entry[] {
    const ids = new Set(waiting.map(({ index }) => index));
    return waiting.filter((entry) => {
      const unmet = entry.needs.some(({ index }) => !ids.has(index) && !entries[index]?.outcome?.ok);
      if (unmet) settle(entry, notRun, 0);
      return !unmet;
    });
  }

  async function sendAll(waiting: readonly Entry[], options: CallOptions, isFirst: boolean): Promise<void> {
    let left = withoutUnmet(waiting);
    let canThrow = isFirst;
    while (left.length > 0) {
      const piece = takePiece(left);
      if (mode !== "independent" && piece.length < left.length) {
        throw new ConfigurationError(`ConfigurationError: a batch of mode ${mode} has at most 200 items and 900 KiB`);
      }
      left = left.slice(piece.length);
      try {
        const needsUser = piece.some(({ call }) => call.operation.caller === "user");
        const sent = sender.send((needsUser ? runUserBatch : runBatch)(bodyOf(piece)), options);
        const { responses } = await sent;
        const { attempts } = await sent.meta;
        for (const [position, entry] of piece.entries()) settle(entry, responses[position] ?? notRun, attempts);
      } catch (error) {
        // Without any answer there is nothing to report of single items.
        if (canThrow || !(error instanceof RollcallError)) throw error;
        for (const entry of [...piece, ...left]) entry.outcome = { ok: false, error };
        return;
      }
      canThrow = false;
      left = withoutUnmet(left);
    }
  }

  /** The entries that may succeed if they are sent again. */
  function findRepeats(): Entry[] {
    const failed = entries.filter(
      ({ failure, errors }) => failure?.repeats === "yes" || (failure?.repeats === "once" && errors < 2),
    );
    if (mode !== "independent") return failed.some(({ failure }) => failure?.repeats === "yes") ? entries : [];
    const again = new Set(failed);
    for (const entry of entries) {
      if (entry.failure?.status === 424 && entry.needs.some(({ index }) => again.has(entries[index] ?? entry)))
        again.add(entry);
    }
    return [...again].sort((a, b) => a.index - b.index);
  }

  return {
    add<T>(call: BatchableCall<T>): Item<T> {
      const { operation, path } = call;
      if (!operation.isBatchable) {
        const message = `${operation.id}: ConfigurationError: it cannot be in a batch`;
        throw new ConfigurationError(message, { call: describeCall(call) });
      }
      const index = entries.length;
      const parameters = encodeParameters(call.parameters ?? {});
      const needs = [...references.find(path), ...references.find(parameters)].filter((target) => target.index < index);
      const idempotencyKey = operation.isIdempotent ? newUuid() : undefined;
      entries.push({ call, index, idempotencyKey, parameters, needs, attempts: 0, errors: 0 });
      const item = { call, ref: references.refsOf<T>(index) };
      indexes.set(item, index);
      return item;
    },
    async send(options = {}) {
      const { pace } = sender;
      const deadline = pace.now() + (options.timeoutMs ?? pace.totalMs);
      const repeats = pace.repeats(options);
      let waiting = entries;
      for (let round = 0; waiting.length > 0; round += 1) {
        await sendAll(waiting, options, round === 0);
        waiting = findRepeats();
        const [worst] = [...waiting].sort((a, b) => askedWait(b) - askedWait(a));
        const waitMs = worst?.failure && repeats.next(worst.failure, deadline - pace.now());
        if (waitMs === undefined) break;
        await pace.wait(waitMs, options);
      }
      const failed = entries.find(({ failure }) => failure !== undefined && failure.status !== 424);
      if (mode === "atomic" && failed?.outcome?.ok === false) {
        throw new BatchFailed(`BatchFailed: ${failed.outcome.error.message}`, results, failed.outcome.error);
      }
      return results;
    },
  };
}

function sizeOf(value: object): number {
  return new TextEncoder().encode(JSON.stringify(value)).length;
}

function askedWait({ failure }: Entry): number {
  return failure?.retryAfterMs ?? (failure === undefined || failure.repeats === "no" ? -1 : 0);
}

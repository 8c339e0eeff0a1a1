import { type Envelope, type Judged, judge } from "../transport/answer.ts";
import { checkCallOptions } from "../transport/call-options.ts";
import { decodeResult } from "../transport/decode.ts";
import { detailsOf, type KeyedCall, keyCall, prepare } from "../transport/keyed-call.ts";
import type { CallOptions, Sent } from "../transport/options.ts";
import type { Pace } from "../transport/transport.ts";
import type { BatchableCall, Call } from "../wire/call.ts";
import { define } from "../wire/define.ts";
import { encodeParameters } from "../wire/encode.ts";
import { ConfigurationError, describeCall, RollcallError } from "../wire/errors.ts";
import { createReferences, type Refs } from "./references.ts";

/**
 * `independent`: items succeed or fail separately. `sequential`: a failure skips the later items. `atomic`: all items or
 * none.
 */
export type BatchMode = "independent" | "sequential" | "atomic";

export interface BatchOptions {
  /** `independent` by default. */
  readonly mode?: BatchMode;
}

/** One call of a batch. */
export interface Item<T> {
  /** References to members of the result, for the ids and parameters of later items. */
  readonly ref: Refs<T>;
  readonly call: BatchableCall<T>;
}

/** The outcome of one call of a batch. */
export type ItemOutcome<T> =
  | { readonly ok: true; readonly value: T }
  | { readonly ok: false; readonly error: RollcallError };

export interface BatchResults {
  /** Returns the result of an item. @throws the error of the item */
  get<T>(item: Item<T>): T;
  outcome<T>(item: Item<T>): ItemOutcome<T>;
}

/** Collects calls that are sent in one request. */
export interface Batch {
  add<T>(call: BatchableCall<T>): Item<T>;
  /** Resolves with all outcomes; rejects with BatchFailed in mode `atomic` if one of the items failed. */
  send(options?: CallOptions): Promise<BatchResults>;
}

/** An atomic batch was rolled back because an item failed. */
export class BatchFailed extends RollcallError {
  static override get name(): string {
    return "BatchFailed";
  }
  /** The error of each item. */
  readonly results: BatchResults;

  constructor(message: string, results: BatchResults, cause: RollcallError) {
    const { outcome, isRetryable, attempts } = cause;
    super(message, { cause, outcome, isRetryable, attempts });
    this.results = results;
  }
}

/** The dependencies of a batch. */
export interface BatchSender {
  readonly pace: Pace;
  send<T>(call: Call<T>, options: CallOptions): Sent<T>;
}

/** An item with its state. */
interface Entry extends KeyedCall {
  readonly index: number;
  /** The encoded parameters, before references are replaced. */
  readonly parameters: Readonly<Record<string, unknown>>;
  /** The items whose results this item refers to. */
  readonly needs: readonly number[];
  /** The number of InternalError responses, which justify one retry. */
  errors: number;
  /** As on the wire, for references: JSON. */
  result?: string;
  outcome?: ItemOutcome<unknown>;
  /** The last response. */
  judged?: Judged;
}

interface BatchAnswer {
  readonly responses: readonly Envelope[];
}

/** The answer of an item that cannot be sent. */
const notRun: Envelope = {
  status: 424,
  error: "BatchItemNotRun",
  errorNumber: 1286,
  message: "An item that it needs has failed.",
  request_id: "",
  success: false,
};
const itemsMax = 200;
const bytesMax = 900 * 1024;
/** Each item has its own idempotency key, so that the service applies a retried batch only once. */
const runBatch: (fields: object) => Call<BatchAnswer> = /* @__PURE__ */ define("runBatch", "POST /batch", "dprs");
/** The same, with items that need a user. */
const runUserBatch: typeof runBatch = /* @__PURE__ */ define("runBatch", "POST /batch", "prs");

export function createBatch({ pace, send }: BatchSender, options: BatchOptions | undefined): Batch {
  const { mode = "independent" }: BatchOptions = Object(options);
  const references = createReferences();
  const entries: Entry[] = [];
  const entryOf = new Map<Item<unknown>, Entry>();

  const results: BatchResults = {
    outcome<T>(item: Item<T>) {
      const outcome = entryOf.get(item)?.outcome;
      if (!outcome) throw new ConfigurationError("the item is not of this batch");
      // The item carries the type of its result.
      return outcome as ItemOutcome<T>;
    },
    get(item) {
      const outcome = results.outcome(item);
      if (outcome.ok) return outcome.value;
      throw outcome.error;
    },
  };

  function bodyOf(piece: readonly Entry[]): object {
    const known = {
      isPending: (index: number) => piece.some((entry) => entry.index === index),
      read: (index: number, member: string) => Object(JSON.parse(entries[index]?.result ?? "0"))[member],
    };
    const hasReferences = piece.some(({ needs }) => needs.some(known.isPending));
    const requests = piece.map(({ call: { operation, path }, index, key, parameters }) => ({
      key: `${index}`,
      method: operation.method,
      path: references.replaceInPath(path, known),
      parameters: references.replace(parameters, known, hasReferences),
      idempotencyKey: key,
    }));
    return { mode, ...(hasReferences && { references: true }), requests };
  }

  /** Returns how many of the first entries fit into one request. */
  function fitting(waiting: readonly Entry[]): number {
    let bytes = 100;
    const end = waiting.findIndex((entry, position) => {
      bytes += new Blob([JSON.stringify(bodyOf([entry]))]).size;
      return position === itemsMax || (bytes > bytesMax && position > 0);
    });
    return end < 0 ? waiting.length : end;
  }

  function settle(entry: Entry, response: Envelope, attempts: number): void {
    const judged = judge(entry, response);
    const { fail, repeats, mayBeDone } = judged;
    entry.judged = judged;
    entry.attempts += attempts;
    entry.isUncertain = !!mayBeDone;
    if (repeats === "once") entry.errors += 1;
    entry.result = JSON.stringify(response.result);
    entry.outcome = fail
      ? { ok: false, error: fail(detailsOf(entry, !!repeats)) }
      : { ok: true, value: decodeResult(response.result) };
  }

  /** Fails the entries that need the result of another one that has none. Returns the others. */
  function withoutUnmet(waiting: readonly Entry[]): readonly Entry[] {
    const isWaiting = (index: number) => waiting.some((entry) => entry.index === index);
    return waiting.filter((entry) => {
      const isUnmet = entry.needs.some((index) => !isWaiting(index) && !entries[index]?.outcome?.ok);
      if (isUnmet) settle(entry, notRun, 0);
      return !isUnmet;
    });
  }

  async function sendAll(waiting: readonly Entry[], options: CallOptions, isFirst: boolean): Promise<void> {
    let left = withoutUnmet(waiting);
    let canThrow = isFirst;
    while (left.length > 0) {
      const count = fitting(left);
      const piece = left.slice(0, count);
      if (mode !== "independent" && count < left.length)
        throw new ConfigurationError(`a batch of mode ${mode} has at most 200 items and 900 KiB`);
      try {
        const needsUser = piece.some(({ call }) => call.operation.caller === "user");
        const sent = send((needsUser ? runUserBatch : runBatch)(bodyOf(piece)), options);
        const { responses } = await sent;
        const { attempts } = await sent.meta;
        for (const [position, entry] of piece.entries()) settle(entry, responses[position] ?? notRun, attempts);
      } catch (error) {
        // Without a response, the client cannot report single items.
        if (canThrow || !(error instanceof RollcallError)) throw error;
        for (const entry of left) {
          if (entry.outcome?.ok) continue;
          entry.isUncertain ||= !entry.isRead && error.outcome === "unknown";
          // The class and the message of the error are those of the batch, and all else is about the item.
          const about = detailsOf(entry, error.isRetryable);
          entry.outcome = { ok: false, error: Object.assign(Object.create(error), about) };
          // The call of the batch has been repeated as often as that may help.
          entry.judged = { ...entry.judged, repeats: undefined };
        }
        return;
      }
      canThrow = false;
      left = withoutUnmet(left.slice(count));
    }
  }

  /** Returns the entries that are worth a retry. */
  function findRepeats(): readonly Entry[] {
    const isAsked = ({ judged }: Entry) => judged?.repeats === "yes";
    if (mode !== "independent") return entries.some(isAsked) ? entries : [];
    const again = new Set<number>();
    for (const entry of entries) {
      const { judged, needs, errors, index } = entry;
      const isOnce = judged?.repeats === "once" && errors < 2;
      const isFreed = judged?.status === 424 && needs.some((needed) => again.has(needed));
      if (isAsked(entry) || isOnce || isFreed) again.add(index);
    }
    return entries.filter(({ index }) => again.has(index));
  }

  return {
    add<T>(call: BatchableCall<T>): Item<T> {
      const keyed = keyCall(call, undefined);
      if (!call.operation.isBatchable)
        throw new ConfigurationError("it cannot be in a batch", { call: describeCall(call) });
      const index = entries.length;
      const parameters = encodeParameters(call.parameters ?? {});
      const find = () => references.find([call.path, parameters]);
      const needs = prepare(keyed, find).filter((needed) => needed < index);
      const entry = { ...keyed, index, parameters, needs, errors: 0 };
      const item = { call, ref: references.refsOf<T>(index) };
      entries.push(entry);
      entryOf.set(item, entry);
      return item;
    },
    async send(given) {
      const options = checkCallOptions(given);
      const deadline = pace.now() + (options.timeoutMs ?? pace.totalMs);
      const nextRepeat = pace.repeats(options.retry);
      let waiting: readonly Entry[] = entries;
      for (let isFirst = true; waiting.length > 0; isFirst = false) {
        await sendAll(waiting, options, isFirst);
        waiting = findRepeats();
        const [longest] = waiting
          .flatMap(({ judged }) => (judged?.repeats ? [judged] : []))
          .sort((a, b) => (b.retryAfterMs ?? 0) - (a.retryAfterMs ?? 0));
        const waitMs = longest && nextRepeat(longest, deadline - pace.now());
        if (waitMs === undefined) break;
        await pace.wait(waitMs, options, { call: describeCall(runBatch({})) });
      }
      const failed = entries.find(({ judged }) => judged?.fail && judged.status !== 424)?.outcome;
      if (mode === "atomic" && failed?.ok === false)
        throw new BatchFailed(`BatchFailed: ${failed.error.message}`, results, failed.error);
      return results;
    },
  };
}

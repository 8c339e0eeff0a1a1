import type { Call } from "../contract/call.ts";
import type { AnyCaller, Route } from "../contract/route.ts";
import type { OuterTransaction } from "../db/database.ts";
import { ApiError, Interrupted } from "../lib/errors.ts";
import type { Dispatched } from "../operations/dispatch.ts";
import { errorReply, newRequestId, type Reply, replyBody, toApiError } from "../operations/envelope.ts";
import type { Services } from "../operations/services.ts";
import type { BatchMode } from "./batch.contract.ts";
import type { BatchItem, ReadItem } from "./batch.items.ts";

/** The results of earlier items by key, for references. */
interface EarlierItems {
  /** Undefined if no item has this key, or the item failed. */
  find(key: string): unknown;
}

/**
 * Resolves the references of an item (spec/batch#references): `{{key.result.id}}` in its path or in a string of its
 * parameters. A string that is one reference is replaced by the value with its type; a literal `{{` is written `\{{`.
 *
 * @param bytesMax limits the inserted bytes, because a few references to a long string could exhaust memory
 * @throws ApiError BatchItemNotRun if a reference is malformed or does not resolve, RequestTooLarge
 */
function resolveReferences(item: BatchItem, earlier: EarlierItems, bytesMax: number): BatchItem {
  const find = boundedBy(bytesMax, earlier);
  const path = replaceMarks(item.path, (reference) => {
    const text = scalarText(reference, find);
    // Metadata may contain a lone surrogate, which is invalid in a path.
    if (!text.isWellFormed()) throw unresolved(reference);
    return encodeURIComponent(text);
  });
  try {
    const parameters = [...item.parameters].map(([name, value]) => [name, resolveValue(value, find)] as const);
    return { ...item, path, parameters };
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    throw new ApiError("BatchItemNotRun", "The parameters are nested too deep for references.", { cause: error });
  }
}

/** Returns the value of a reference. @throws ApiError BatchItemNotRun, RequestTooLarge */
type LookUp = (reference: string) => unknown;

function boundedBy(bytesMax: number, earlier: EarlierItems): LookUp {
  let length = 0;
  return (reference) => {
    const value = lookUp(reference, earlier);
    length += typeof value === "object" ? JSON.stringify(value).length : String(value).length;
    if (length <= bytesMax) return value;
    throw new ApiError("RequestTooLarge", `The resolved references are larger than ${bytesMax} bytes.`);
  };
}

function resolveValue(value: unknown, find: LookUp): unknown {
  if (typeof value === "string") return resolveText(value, find);
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return value.map((each) => resolveValue(each, find));
  // fromEntries also creates own members with names like __proto__.
  return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, resolveValue(each, find)]));
}

function resolveText(text: string, find: LookUp): unknown {
  const isReference = text.startsWith("{{") && text.indexOf("}}", 2) === text.length - 2;
  if (isReference && !text.includes("{{", 2)) return find(text.slice(2, -2));
  return replaceMarks(text, (reference) => scalarText(reference, find));
}

/** Replaces references in one pass, so that a string of braces takes linear time. */
function replaceMarks(text: string, replace: (reference: string) => string): string {
  const parts: string[] = [];
  let from = 0;
  for (let at = text.indexOf("{{"); at !== -1; at = text.indexOf("{{", from)) {
    if (at > from && text[at - 1] === "\\") {
      parts.push(text.slice(from, at - 1), "{{");
      from = at + 2;
      continue;
    }
    const end = text.indexOf("}}", at + 2);
    if (end === -1) throw new ApiError("BatchItemNotRun", "A reference has no end.");
    parts.push(text.slice(from, at), replace(text.slice(at + 2, end)));
    from = end + 2;
  }
  return parts.length === 0 ? text : parts.join("") + text.slice(from);
}

/** Converts a value for insertion into a longer string, which only strings, numbers and booleans allow. */
function scalarText(reference: string, find: LookUp): string {
  const value = find(reference);
  if (typeof value === "object") throw unresolved(reference);
  return String(value);
}

/** Finds the value of a reference. Keys may contain dots, so the longest existing key takes precedence. */
function lookUp(reference: string, earlier: EarlierItems): unknown {
  if (reference.length > referenceCharactersMax) throw unresolved(reference);
  const names = reference.trim().split(".");
  for (let length = names.length - 1; length >= 1; length -= 1) {
    const envelope = earlier.find(names.slice(0, length).join("."));
    if (envelope === undefined) continue;
    let value: unknown = envelope;
    for (const name of names.slice(length)) {
      if (typeof value !== "object" || value === null || !Object.hasOwn(value, name)) throw unresolved(reference);
      value = (value as Record<string, unknown>)[name]; // checked above
    }
    return value;
  }
  throw unresolved(reference);
}

const referenceCharactersMax = 1_000;
const shownCharacters = 100;

function unresolved(reference: string): ApiError {
  const shown = [...reference.trim()].slice(0, shownCharacters).join("");
  return new ApiError("BatchItemNotRun", `The reference {{${shown}}} does not resolve.`);
}

/** An item and its result. */
export interface AnsweredItem {
  readonly item: ReadItem;
  readonly requestId: string;
  readonly reply: Reply;
  readonly route: Route | undefined;
  readonly caller: AnyCaller | undefined;
  readonly ms: number;
}

export interface BatchPlan {
  readonly items: readonly ReadItem[];
  readonly mode: BatchMode;
  readonly hasReferences: boolean;
  /** The call of the batch. */
  readonly outer: Call;
}

/** The time after which a batch yields to the event loop. */
const yieldAfterMs = 5;

/** Runs the items sequentially (spec/batch#batch-items). They are committed when the promise resolves. */
export function runBatch(plan: BatchPlan, services: Services): Promise<AnsweredItem[]> {
  return plan.mode === "atomic" ? runAtomic(plan, services) : runInOrder(plan, services);
}

/** Runs as many items as possible in one transaction, with one fsync. Each item fails or succeeds independently. */
function runInOrder(plan: BatchPlan, services: Services): Promise<AnsweredItem[]> {
  return services.database.nestTransactions(
    async (outer) => {
      const sequence = createSequence(plan, services);
      let isStopped = false;
      let durableCount = 0;
      for (const item of plan.items) {
        const { commitCount } = outer;
        if (isStopped) {
          sequence.add(notRun(item));
          continue;
        }
        try {
          const answered = await outer.step(
            () => sequence.answer(item),
            ({ reply }) => reply.status === 503,
          );
          if (outer.commitCount > commitCount) durableCount = sequence.answered.length;
          sequence.add(answered);
          isStopped = plan.mode === "sequential" && !answered.reply.isSuccess;
        } catch (error) {
          if (error instanceof Interrupted) continue; // the whole transaction is retried
          sequence.lose(durableCount, error);
          sequence.add(refused(item, error));
        }
      }
      await outer.flush().catch((error) => sequence.lose(durableCount, error));
      return sequence.answered;
    },
    { isSplittable: true },
  );
}

/** Rolls back an atomic batch. */
class Failed extends Error {
  readonly answered: AnsweredItem;

  constructor(answered: AnsweredItem) {
    super();
    this.answered = answered;
  }
}

async function runAtomic(plan: BatchPlan, services: Services): Promise<AnsweredItem[]> {
  async function runAll(outer: OuterTransaction): Promise<AnsweredItem[]> {
    const sequence = createSequence(plan, services);
    for (const item of plan.items) {
      try {
        const answered = await outer.step(() => sequence.answer(item));
        sequence.add(answered);
        if (!answered.reply.isSuccess && !outer.isInterrupted) throw new Failed(answered);
      } catch (error) {
        if (!(error instanceof Interrupted)) throw error;
      }
    }
    return sequence.answered;
  }

  try {
    return await services.database.nestTransactions(runAll, { isSplittable: false });
  } catch (error) {
    if (!(error instanceof Failed)) throw error;
    return plan.items.map((item) => (item === error.answered.item ? error.answered : notRun(item)));
  }
}

/** The responses of the items, in order. */
function createSequence({ hasReferences, outer }: BatchPlan, { config, dispatcher }: Services) {
  const { batchReplyBytesMax, bodyBytesMax } = config;
  const answered: AnsweredItem[] = [];
  const earlier = createEarlierItems();
  let bytes = 0;
  let yieldedAt = performance.now();

  function dispatch(item: ReadItem): Dispatched | ApiError {
    if ("failure" in item) return item.failure;
    if (bytes > batchReplyBytesMax) {
      return new ApiError("RequestTooLarge", `The responses of the batch are larger than ${batchReplyBytesMax} bytes.`);
    }
    try {
      const resolved = hasReferences ? resolveReferences(item, earlier, bodyBytesMax) : item;
      const { rehearsedItem } = outer;
      const isRehearsed = rehearsedItem?.key === item.key;
      return dispatcher.dispatch(isRehearsed ? { ...resolved, rehearse: rehearsedItem.header } : resolved, outer);
    } catch (error) {
      return toApiError(error);
    }
  }

  return {
    answered,

    async answer(item: ReadItem): Promise<AnsweredItem> {
      const began = performance.now();
      if (began - yieldedAt > yieldAfterMs) {
        await new Promise(setImmediate);
        yieldedAt = performance.now();
      }
      const dispatched = dispatch(item);
      if (dispatched instanceof ApiError) return refused(item, dispatched);
      const { requestId, route } = dispatched;
      const { reply, caller } = await dispatched.run();
      return { item, requestId, reply, route, caller, ms: performance.now() - began };
    },

    add(one: AnsweredItem): void {
      answered.push(one);
      bytes += one.reply.content.length;
      if (hasReferences) earlier.add(one);
    },

    /** Replaces the responses from an index on by the error, because their transaction was rolled back. */
    lose(from: number, error: unknown): void {
      for (const [index, { item, reply, route }] of answered.entries()) {
        if (index >= from && reply.isSuccess && route?.method !== "GET") answered[index] = refused(item, error);
      }
    },
  };
}

/** Stores results by key: the latest item with a key takes precedence, and a failed item has no result. */
function createEarlierItems(): EarlierItems & { add(answered: AnsweredItem): void } {
  const byKey = new Map<string, { readonly body: string | undefined; envelope?: unknown }>();
  return {
    find(key) {
      const found = byKey.get(key);
      if (found?.body === undefined) return undefined;
      found.envelope ??= JSON.parse(found.body);
      return found.envelope;
    },
    add({ item, reply, requestId }) {
      byKey.set(item.key, { body: reply.isSuccess ? replyBody(reply, requestId) : undefined });
    },
  };
}

function notRun(item: ReadItem): AnsweredItem {
  return refused(item, new ApiError("BatchItemNotRun"));
}

function refused(item: ReadItem, error: unknown): AnsweredItem {
  const reply = errorReply(toApiError(error));
  return { item, requestId: newRequestId(), reply, route: undefined, caller: undefined, ms: 0 };
}

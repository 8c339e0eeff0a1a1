import { type Batch, type BatchOptions, createBatch } from "../batch/batch.ts";
import type { Transport } from "../transport/transport.ts";
import { createNouns, type Nouns } from "./nouns.ts";
import type { Send } from "./send.ts";

/** All calls of one principal. */
export interface Calls extends Nouns {
  readonly send: Send;
  /** Creates a batch: calls that are sent in one request. */
  batch(options?: BatchOptions): Batch;
}

export function createCalls(send: Send, { pace }: Pick<Transport, "pace">): Calls {
  return { ...createNouns(send), send, batch: (options) => createBatch({ send, pace }, options) };
}

import { type CurrentCall, currentCall } from "../lib/current-call.ts";

/** A statement that waits for the end of the tick. */
export interface Waiting<Values> {
  readonly values: Values;
  readonly call: CurrentCall | undefined;
  readonly resolve: (rows: unknown[]) => void;
  readonly reject: (error: unknown) => void;
}

/** Collects the statements of one tick, and sends statements of the same kind together. */
export function createTickQueue<Kind, Values>(
  send: (kind: Kind, waiting: readonly Waiting<Values>[]) => void,
): (kind: Kind, values: Values) => Promise<unknown[]> {
  let kinds = new Map<Kind, Waiting<Values>[]>();

  function flush(): void {
    const flushed = kinds;
    kinds = new Map();
    for (const [kind, waiting] of flushed) send(kind, waiting);
  }

  return (kind, values) =>
    new Promise((resolve, reject) => {
      if (kinds.size === 0) setImmediate(flush);
      const one = { values, call: currentCall(), resolve, reject };
      const waiting = kinds.get(kind);
      if (waiting === undefined) kinds.set(kind, [one]);
      else waiting.push(one);
    });
}

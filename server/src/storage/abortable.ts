import { Readable } from "node:stream";

/** The same bytes until the signal is aborted: then it throws the reason at once, also while the source is silent. */
export async function* abortable(
  bytes: AsyncIterable<Uint8Array>,
  signal: AbortSignal | undefined,
): AsyncGenerator<Uint8Array> {
  if (signal === undefined) {
    yield* bytes;
    return;
  }
  const source = bytes[Symbol.asyncIterator]();
  // One listener that rejects the step under way: a race against a promise that lasts would keep what it has lost to.
  let rejectStep: ((reason: unknown) => void) | undefined;
  const abort = () => rejectStep?.(signal.reason);
  signal.addEventListener("abort", abort);
  const step = () =>
    new Promise<IteratorResult<Uint8Array>>((resolve, reject) => {
      signal.throwIfAborted(); // in here: a throw rejects
      rejectStep = reject;
      source.next().then(resolve, reject);
    });
  let isOver = false;
  try {
    for (;;) {
      const { done, value } = await step();
      if (done === true) {
        isOver = true;
        return;
      }
      yield value;
    }
  } finally {
    signal.removeEventListener("abort", abort);
    // Not waited for: a silent source would never answer. A stream has to be told itself, for the same reason.
    if (!isOver) source.return?.().catch(() => {});
    if (signal.aborted && bytes instanceof Readable) bytes.destroy();
  }
}

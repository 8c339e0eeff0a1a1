import { Readable } from "node:stream";

/**
 * Yields the bytes until the signal is aborted, then throws its reason immediately, even while the source is silent.
 */
export async function* abortable(
  bytes: AsyncIterable<Uint8Array>,
  signal: AbortSignal | undefined,
): AsyncGenerator<Uint8Array> {
  if (signal === undefined) {
    yield* bytes;
    return;
  }
  const source = bytes[Symbol.asyncIterator]();
  // A single listener rejects the pending step: `Promise.race` against a long-lived promise would leak a reaction for
  // each chunk.
  let rejectStep: ((reason: unknown) => void) | undefined;
  const abort = () => rejectStep?.(signal.reason);
  signal.addEventListener("abort", abort);
  const step = () =>
    new Promise<IteratorResult<Uint8Array>>((resolve, reject) => {
      signal.throwIfAborted(); // inside the promise, so that a throw rejects
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
    // Not awaited, because a silent source would never answer; for the same reason a stream is destroyed explicitly.
    if (!isOver) source.return?.().catch(() => {});
    if (signal.aborted && bytes instanceof Readable) bytes.destroy();
  }
}

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
  let isOver = false;
  try {
    for (;;) {
      const { done, value } = await nextOf(source, signal);
      if (done === true) {
        isOver = true;
        return;
      }
      yield value;
    }
  } finally {
    // Not waited for: a silent source would never answer. A stream has to be told itself, for the same reason.
    if (!isOver) source.return?.().catch(() => {});
    if (signal.aborted && bytes instanceof Readable) bytes.destroy();
  }
}

/** A listener for each step instead of one race: what loses a race against a long-lived promise is kept in memory. */
function nextOf<T>(source: AsyncIterator<T>, signal: AbortSignal): Promise<IteratorResult<T>> {
  return new Promise((resolve, reject) => {
    signal.throwIfAborted(); // in here: a throw rejects
    const abort = () => reject(signal.reason);
    signal.addEventListener("abort", abort, { once: true });
    source
      .next()
      .then(resolve, reject)
      .finally(() => signal.removeEventListener("abort", abort));
  });
}

/** A semaphore: runs at most `most` tasks concurrently. An aborted signal removes a waiting task from the queue. */
export function createTurns(most: number) {
  const waiting = new Set<() => void>();
  let running = 0;

  function waitForTurn(signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      const begin = () => {
        signal.removeEventListener("abort", leave);
        waiting.delete(begin);
        running += 1;
        resolve();
      };
      const leave = () => {
        waiting.delete(begin);
        reject(signal.reason);
      };
      if (signal.aborted) return leave();
      if (running < most) return begin();
      signal.addEventListener("abort", leave, { once: true });
      waiting.add(begin);
    });
  }

  return async function takeTurn<Result>(signal: AbortSignal, run: () => Promise<Result>): Promise<Result> {
    await waitForTurn(signal);
    try {
      return await run();
    } finally {
      running -= 1;
      const [next] = waiting;
      next?.();
    }
  };
}

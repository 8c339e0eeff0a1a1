type Resume = (failure?: Error) => void;

/**
 * Holds the requests that arrive in one tick, and releases them together at the end of the tick.
 *
 * ```
 * poll     request A ┐
 *          request B ├─ held
 *          request C ┘
 * check    begin() ── once for all of them ── then A, B and C run and are answered back to back
 * ```
 *
 * This per-tick batching does work that costs a system call once per tick: checking for revocations by other processes,
 * starting the read transaction. The check runs after the last of these requests has arrived, so it is exact for all of
 * them. Responses that are sent back to back also wake up the client only once. A single request does not wait.
 *
 * @param begin runs before the requests of each tick are released; if it throws, all of them fail with its error
 */
export function createTick(begin: () => void): (resume: Resume) => void {
  let held: Resume[] = [];

  function release(): void {
    const released = held;
    held = [];
    let failure: Error | undefined;
    try {
      begin();
    } catch (error) {
      failure = error as Error; // the database throws only errors
    }
    for (const resume of released) resume(failure);
  }
  return (resume) => {
    if (held.push(resume) === 1) setImmediate(release);
  };
}

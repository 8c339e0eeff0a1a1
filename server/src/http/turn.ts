type GoOn = (failure?: Error) => void;

/**
 * Lets the requests that arrive in one turn of the event loop go on together at its end.
 *
 * ```
 * poll     request A ┐
 *          request B ├─ held
 *          request C ┘
 * check    begin() ── once for all of them ── then A, B and C run and are answered back to back
 * ```
 *
 * What costs a system call can so be done once per turn (has another process revoked anything? where does the read
 * transaction begin?), and it is done after the last of these requests has arrived, so it is exact for each of them.
 * Answers that leave back to back also spare the client a wake-up each. A lone request waits for nothing.
 *
 * @param begin runs before the first request of each turn goes on; when it throws, all of them fail with that
 */
export function createTurn(begin: () => void): (goOn: GoOn) => void {
  let held: GoOn[] = [];

  function release(): void {
    const released = held;
    held = [];
    let failure: Error | undefined;
    try {
      begin();
    } catch (error) {
      failure = error as Error; // the database throws nothing else
    }
    for (const goOn of released) goOn(failure);
  }
  return (goOn) => {
    if (held.push(goOn) === 1) setImmediate(release);
  };
}

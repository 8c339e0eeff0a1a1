const nothing = new Int32Array(new SharedArrayBuffer(4));

/** Lets this thread do nothing for so long: for where nobody is served yet, or any longer. */
export function pauseThread(ms: number): void {
  Atomics.wait(nothing, 0, 0, ms);
}

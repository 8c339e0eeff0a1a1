const nothing = new Int32Array(new SharedArrayBuffer(4));

/** Blocks this thread, for start-up and shutdown only, when no requests are served. */
export function pauseThread(ms: number): void {
  Atomics.wait(nothing, 0, 0, ms);
}

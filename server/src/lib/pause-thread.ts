const unchanged = new Int32Array(new SharedArrayBuffer(4));

/** Blocks the thread. Use it only during start-up and shutdown, when no requests are served. */
export function pauseThread(ms: number): void {
  Atomics.wait(unchanged, 0, 0, ms);
}

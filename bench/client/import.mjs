// Imports the compiled client, and prints the milliseconds and the bytes in the heap that it took. Run with --expose-gc.
const bytesInHeap = () => {
  globalThis.gc();
  return process.memoryUsage().heapUsed;
};
const bytesBefore = bytesInHeap();
const startedAt = performance.now();
await import("../../sdk/dist/index.js");
const ms = performance.now() - startedAt;
console.log(JSON.stringify({ ms, bytes: bytesInHeap() - bytesBefore }));

// Imports the compiled client as Node.js does, and prints the milliseconds and the bytes in the heap that it took. Run with --expose-gc.
const bytesInHeap = () => {
  globalThis.gc();
  return process.memoryUsage().heapUsed;
};
const bytesBefore = bytesInHeap();
const startedAt = performance.now();
await import("../../sdk/dist/bundle/index.js");
const ms = performance.now() - startedAt;
console.log(JSON.stringify({ ms, bytes: bytesInHeap() - bytesBefore }));

/** `node:zlib` at its first use: it loads a reader and a writer of ZIP files, which take a thirtieth of the start. */
export function nodeZlib(): typeof import("node:zlib") {
  return process.getBuiltinModule("node:zlib");
}

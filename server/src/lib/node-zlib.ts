/** Loads `node:zlib` at its first use: its reader and writer of ZIP files take 3 % of the start-up time. */
export function nodeZlib(): typeof import("node:zlib") {
  return process.getBuiltinModule("node:zlib");
}

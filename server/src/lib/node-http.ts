/** `node:http` for start-up: an import statement reads every export, and so loads undici (16 MB, a tenth of the start). */
export const { Agent, createServer, request } = process.getBuiltinModule("node:http");

/** `node:https` at its first use: TLS takes a twentieth of the start, and many servers never need it. */
export function nodeHttps(): typeof import("node:https") {
  return process.getBuiltinModule("node:https");
}

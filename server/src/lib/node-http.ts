/** `node:http` for start-up: an import statement reads every export, and so loads undici (16 MB, a tenth of the start). */
export const { Agent, createServer, request } = process.getBuiltinModule("node:http");

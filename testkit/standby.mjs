// Preloaded before server/src/main.ts: loads and compiles all modules, then waits for a byte on standard input. A
// server that is needed at once then starts without the cost of Node.js itself, and its own start is unchanged.

import { once } from "node:events";
import { enableCompileCache } from "node:module";
import { fileURLToPath } from "node:url";

enableCompileCache(fileURLToPath(new URL("../node_modules/.cache/compile", import.meta.url)));
await import("../server/src/app/serve.ts");
await once(process.stdin, "data");
process.stdin.destroy();

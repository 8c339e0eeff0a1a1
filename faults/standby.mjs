// Loaded before server/src/main.ts: everything of it is read and compiled, and then nothing happens until standard input
// brings a byte. So a server that is needed at once costs no start of Node.js, and what it does first is what it always does.

import { once } from "node:events";
import { enableCompileCache } from "node:module";
import { fileURLToPath } from "node:url";

enableCompileCache(fileURLToPath(new URL("../node_modules/.cache/compile", import.meta.url)));
await import("../server/src/serve.ts");
await once(process.stdin, "data");
process.stdin.destroy();

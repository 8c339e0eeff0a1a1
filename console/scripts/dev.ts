/** Serves the console with reloading: `npm run console`. ROLLCALL_URL names the server that answers its calls. */
import path from "node:path";
import { createServer } from "vite";

const server = await createServer({ root: path.resolve(import.meta.dirname, "..") });
await server.listen();
server.printUrls();

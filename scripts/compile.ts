/**
 * Writes `server/dist`, the bundled server, and adds the other files of the npm package. Run by `npm pack` (`prepack` of
 * server/package.json).
 */
import { copyFileSync, rmSync } from "node:fs";
import path from "node:path";
import { bundleServer } from "./bundle.ts";

const root = path.resolve(import.meta.dirname, "..");
const compiled = path.join(root, "server/dist");

rmSync(compiled, { recursive: true, force: true });
await bundleServer(compiled);
for (const file of ["LICENSE", ".env.example"]) copyFileSync(path.join(root, file), path.join(root, "server", file));

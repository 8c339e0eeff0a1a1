/** Writes the files that are made from the code: `npm run docs`. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { buildApp } from "../server/src/app.ts";
import { loadConfig } from "../server/src/config.ts";
import { renderPublished } from "./published.ts";

const root = path.resolve(import.meta.dirname, "..");
const dataDir = mkdtempSync(path.join(tmpdir(), "rollcall-docs-"));
const app = await buildApp(loadConfig({ DATA_DIR: dataDir, LOG_LEVEL: "silent" }));
for (const [file, text] of Object.entries(renderPublished(app))) {
  writeFileSync(path.join(root, file), text);
  console.log(`wrote ${file}`);
}
await app.close(0);
rmSync(dataDir, { recursive: true });

/** Writes the files that are generated from the code: `npm run docs`. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { buildApp } from "../server/src/app/app.ts";
import { loadConfig } from "../server/src/config/config.ts";
import { writeDocsAssets } from "./docs-assets.ts";
import { renderPublished } from "./published.ts";
import { renderSdkApi, sdkApiFile } from "./sdk-api.ts";

const root = path.resolve(import.meta.dirname, "..");
const dataDir = mkdtempSync(path.join(tmpdir(), "rollcall-docs-"));
const app = await buildApp(loadConfig({ DATA_DIR: dataDir, LOG_LEVEL: "silent" }));
for (const [file, text] of Object.entries(renderPublished(app))) write(file, text);
write(sdkApiFile, renderSdkApi()); // from sources that have just been written
const assets = path.join(root, "server/assets/docs");
for (const file of writeDocsAssets(assets)) console.log(`wrote ${path.relative(root, path.join(assets, file))}`);
await app.close(0);
rmSync(dataDir, { recursive: true });

function write(file: string, text: string): void {
  writeFileSync(path.join(root, file), text);
  console.log(`wrote ${file}`);
}

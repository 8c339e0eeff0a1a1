#!/usr/bin/env node
import { enableCompileCache } from "node:module";
import { fileURLToPath } from "node:url";
import { setFlagsFromString } from "node:v8";

// Halves the start and spares the compiler's memory; where the folder cannot be written, all is as before.
enableCompileCache(fileURLToPath(new URL("../../node_modules/.cache/compile", import.meta.url)));

// What loading leaves behind would make the young generation larger for good.
setFlagsFromString("--semi-space-growth-factor=1");

const { loadConfig } = await import("./config.ts");
const { explainFailure } = await import("./failure.ts");
const { start } = await import("./start.ts");

try {
  await start(loadConfig(process.env));
  setFlagsFromString("--semi-space-growth-factor=2"); // as the engine has it
} catch (error) {
  console.error(explainFailure(error));
  process.exitCode = 1;
}

#!/usr/bin/env node
import { enableCompileCache } from "node:module";
import { fileURLToPath } from "node:url";
import { setFlagsFromString } from "node:v8";
import { onStop } from "./lib/stop-signals.ts";

// Whoever tells of a new certificate while it starts is not to end it: the files are read when it serves.
if (process.env["TLS_CERT_FILE"]) process.on("SIGHUP", () => {});
// While it starts there is nothing to finish. The first process of a container has nobody who ends it: it does that itself.
onStop(() => process.exit(0));

// Halves the start and spares the compiler's memory; where the folder cannot be written, all is as before.
enableCompileCache(fileURLToPath(new URL("../.cache/compile", import.meta.resolve("fastify"))));

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

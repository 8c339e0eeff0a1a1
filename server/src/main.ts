#!/usr/bin/env node
import { setFlagsFromString } from "node:v8";
import type { Config } from "./config/config.ts";
import { nameSourcesInStacks } from "./lib/source-positions.ts";
import { onStop } from "./lib/stop-signals.ts";

// Nothing is in flight during start-up, so exit at once. As PID 1 of a container, the process has no default handler.
onStop(() => process.exit(0));
// A SIGHUP for a renewed certificate must not end the process during start-up; the files are read later anyway.
ignoreHangUp();

nameSourcesInStacks();

// Otherwise the garbage of loading modules enlarges V8's young generation permanently.
setFlagsFromString("--semi-space-growth-factor=1");

const { loadConfig } = await import("./config/config.ts");
const { loadEnvironmentFile } = await import("./config/environment.ts");
const { explainFailure } = await import("./config/failure.ts");
const { start } = await import("./app/start.ts");

let config: Config | undefined;
try {
  const fromFile = loadEnvironmentFile();
  ignoreHangUp();
  config = loadConfig(process.env, fromFile);
  await start(config);
  setFlagsFromString("--semi-space-growth-factor=2"); // V8's default
} catch (error) {
  console.error(explainFailure(error, config));
  process.exitCode = 1;
}

function ignoreHangUp(): void {
  if (process.env["TLS_CERT_FILE"] && process.listenerCount("SIGHUP") === 0) process.on("SIGHUP", () => {});
}

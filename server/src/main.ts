#!/usr/bin/env node
import { ConfigError, loadConfig } from "./config.ts";
import { serve } from "./serve.ts";

try {
  await serve(loadConfig(process.env));
} catch (error) {
  console.error(error instanceof ConfigError ? error.message : error);
  process.exitCode = 1;
}

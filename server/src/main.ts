#!/usr/bin/env node
import { loadConfig } from "./config.ts";
import { explainFailure } from "./failure.ts";
import { serve } from "./serve.ts";

try {
  await serve(loadConfig(process.env));
} catch (error) {
  console.error(explainFailure(error));
  process.exitCode = 1;
}

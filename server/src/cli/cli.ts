#!/usr/bin/env node
import { loadConfig } from "../config/config.ts";
import { loadEnvironmentFile } from "../config/environment.ts";
import { nameSourcesInStacks } from "../lib/source-positions.ts";
import type { Values } from "./command.ts";
import { runCli } from "./run.ts";
import { throwawayConfig } from "./throwaway.ts";

nameSourcesInStacks();

const { stdout, stderr } = process;
const readConfig = (values: Values) =>
  values.throwaway ? throwawayConfig(process.env, values) : loadConfig(process.env, loadEnvironmentFile());
const exitCode = await runCli(process.argv.slice(2), { stdout, stderr, readConfig });
// `serve` continues to run, and sets its exit code later.
if (exitCode !== 0) process.exitCode = exitCode;

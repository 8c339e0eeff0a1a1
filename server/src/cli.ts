#!/usr/bin/env node
import type { Values } from "./cli.command.ts";
import { runCli } from "./cli.run.ts";
import { throwawayConfig } from "./cli.throwaway.ts";
import { loadConfig } from "./config.ts";
import { loadEnvironmentFile } from "./environment.ts";
import { nameSourcesInStacks } from "./lib/source-positions.ts";

nameSourcesInStacks();

const { stdout, stderr } = process;
const readConfig = (values: Values) =>
  values.throwaway ? throwawayConfig(process.env, values) : loadConfig(process.env, loadEnvironmentFile());
const exitCode = await runCli(process.argv.slice(2), { stdout, stderr, readConfig });
// `serve` keeps running, and sets its own exit code later.
if (exitCode !== 0) process.exitCode = exitCode;

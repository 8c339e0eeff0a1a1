/**
 * Runs the packed client in other runtimes than that of the tests, against a server that it starts: `npm run
 * test:runtimes`. A runtime that npm cannot install here is named as skipped.
 */
import { execFile } from "node:child_process";
import { copyFileSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { promisify } from "node:util";
import { startThrowaway } from "../server/testing.mjs";

interface Runtime {
  readonly name: string;
  /** The npm package that brings it. */
  readonly dependency: readonly [name: string, version: string];
  readonly args: readonly string[];
}

const runtimes: readonly Runtime[] = [
  { name: "Node.js 20.19", dependency: ["node", "20.19.5"], args: [] },
  { name: "Node.js 22", dependency: ["node", "22.23.3"], args: [] },
  { name: "Node.js 24", dependency: ["node", "24.21.0"], args: [] },
  { name: "Deno", dependency: ["deno", "2.9.6"], args: ["run", "--allow-all", "--node-modules-dir=manual"] },
  { name: "Bun", dependency: ["bun", "1.4.5"], args: ["run"] },
];
const parts = ["sign-in", "batch", "upload", "download", "connect", "signing", "closing"];
const installMsMax = 300_000;
const journeyMsMax = 120_000;

const root = path.resolve(import.meta.dirname, "..");
const folder = mkdtempSync(path.join(tmpdir(), "rollcall-runtimes-"));
const run = promisify(execFile);
await run("npm", ["pack", "--workspace", "sdk", "--pack-destination", folder], { cwd: root });
const [archive = ""] = readdirSync(folder);
const server = await startThrowaway();
let failed = 0;
for (const runtime of runtimes) await tryOut(runtime);
await server.stop();
rmSync(folder, { recursive: true, force: true });
process.exitCode = failed === 0 ? 0 : 1;

async function tryOut({ name, dependency: [dependency, version], args }: Runtime): Promise<void> {
  const own = path.join(folder, `${dependency}-${version}`);
  mkdirSync(own);
  const settings = { type: "module", dependencies: { [dependency]: version }, allowScripts: { [dependency]: true } };
  writeFileSync(path.join(own, "package.json"), JSON.stringify(settings));
  try {
    const install = ["install", "--prefer-offline", "--no-audit", "--no-fund", path.join(folder, archive)];
    await run("npm", install, { cwd: own, timeout: installMsMax });
  } catch {
    console.log(`- ${name} ${version} was skipped: npm cannot install it here`);
    return;
  }
  copyFileSync(path.join(import.meta.dirname, "runtimes/journey.mjs"), path.join(own, "journey.mjs"));
  const program = path.join(own, "node_modules/.bin", dependency);
  const { url, appid, appkey, operator } = server;
  const env = { ...process.env, ROLLCALL_SERVER: JSON.stringify({ url, appid, appkey, operator }) };
  const options = { cwd: own, env, timeout: journeyMsMax };
  const { stdout, stderr } = await run(program, [...args, "journey.mjs"], options).catch((error) => error);
  const done = parts.filter((part) => stdout.split("\n").includes(part));
  const isWhole = done.length === parts.length;
  console.log(`${isWhole ? "✓" : "✖"} ${name} ${version}: ${done.join(", ")}${isWhole ? "" : `\n${stderr}`}`);
  if (!isWhole) failed += 1;
}

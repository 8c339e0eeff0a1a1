/** Compiles `sdk/src` to `sdk/dist`, file by file. Run by `npm pack` (`prepack` of sdk/package.json). */
import { execFileSync } from "node:child_process";
import { copyFileSync, rmSync } from "node:fs";
import path from "node:path";

const root = path.resolve(import.meta.dirname, "..");
const sdk = path.join(root, "sdk");

rmSync(path.join(sdk, "dist"), { recursive: true, force: true });
const compiler = path.join(root, "node_modules/typescript/bin/tsc");
execFileSync(process.execPath, [compiler, "-p", path.join(sdk, "tsconfig.build.json")], { stdio: "inherit" });
copyFileSync(path.join(root, "LICENSE"), path.join(sdk, "LICENSE"));

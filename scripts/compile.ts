/**
 * Writes `server/dist`, the bundled server and the built console, and adds the other files of the npm package. Run by
 * `npm pack` (`prepack` of server/package.json), and for the container, which builds the console in a stage of its own.
 */
import { execFileSync } from "node:child_process";
import { copyFileSync, cpSync, existsSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import { readGitCommit } from "../server/src/lib/git-commit.ts";
import { bundleServer } from "./bundle.ts";

const root = path.resolve(import.meta.dirname, "..");
const compiled = path.join(root, "server/dist");

rmSync(compiled, { recursive: true, force: true });
await bundleServer(compiled);
// An image is built without .git, and gets the commit as COMMIT.
writeFileSync(path.join(compiled, "commit"), `${process.env["COMMIT"] || readGitCommit(root) || ""}\n`);
const consoleBuild = path.join(root, "console/scripts/build.ts");
if (existsSync(consoleBuild)) {
  execFileSync(process.execPath, [consoleBuild, "--if-changed"], { stdio: ["ignore", "ignore", "inherit"] });
  const isShipped = (file: string) => ![".built-from", "manifest.json.br"].includes(path.basename(file));
  cpSync(path.join(root, "console/dist"), path.join(compiled, "console"), { recursive: true, filter: isShipped });
}
for (const file of ["LICENSE", ".env.example"]) copyFileSync(path.join(root, file), path.join(root, "server", file));

/**
 * Builds the console and tests it in Chromium: `npm run test:console`, or `npm run test:console -- <texts>` for the checks whose
 * names have one of the texts. CHROMIUM names the browser; otherwise it is searched in the PATH: chromium-headless-shell, then
 * chromium. Pictures of all screens are written to console/dist.pictures, for people to look at.
 *
 * The last line is "N passed, N failed", or "skipped: no Chromium" where there is none; with REQUIRE_BROWSER=1 that is a failure.
 */
import { execFileSync } from "node:child_process";
import path from "node:path";
import { findWindowlessChromium } from "./find-program.ts";

const root = path.resolve(import.meta.dirname, "..");
const executablePath = findWindowlessChromium();
if (executablePath === undefined) {
  console.log("skipped: no Chromium");
  if (process.env["REQUIRE_BROWSER"] === "1") process.exitCode = 1;
} else {
  const startedAt = performance.now();
  execFileSync(process.execPath, [path.join(root, "console/scripts/build.ts"), "--if-changed"], { stdio: "inherit" });
  // Typed with the DOM, unlike this script.
  const { runConsoleSuite } = await import(path.join(root, "console/test/runner.ts"));
  const pictures = path.join(root, "console/dist.pictures");
  const { passed, failed } = await runConsoleSuite({ executablePath, pictures, only: process.argv.slice(2) });
  console.log(`${Math.round((performance.now() - startedAt) / 1000)} s`);
  console.log(`${passed} passed, ${failed} failed`);
  if (failed > 0 || passed === 0) process.exitCode = 1;
}

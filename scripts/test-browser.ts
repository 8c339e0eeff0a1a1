/**
 * Tests the client in Chromium: `npm run test:browser`. CHROMIUM names the browser; otherwise it is searched in the PATH.
 *
 * The last line is "N passed, N failed", or "skipped: no Chromium" where there is none; with REQUIRE_BROWSER=1 that is a failure.
 */
import { accessSync, constants } from "node:fs";
import path from "node:path";

const chromium = process.env["CHROMIUM"] || findProgram(["chromium", "chromium-browser", "google-chrome"]);
if (chromium === undefined) {
  console.log("skipped: no Chromium");
  if (process.env["REQUIRE_BROWSER"] === "1") process.exitCode = 1;
} else {
  // Typed with the DOM, unlike this script.
  const { runBrowserSuite } = await import(path.resolve(import.meta.dirname, "../sdk/test/browser/suite.ts"));
  const { passed, failed } = await runBrowserSuite(chromium);
  console.log(`${passed} passed, ${failed} failed`);
  if (failed > 0 || passed === 0) process.exitCode = 1;
}

function findProgram(names: readonly string[]): string | undefined {
  const folders = (process.env["PATH"] ?? "").split(path.delimiter);
  return names.flatMap((name) => folders.map((folder) => path.join(folder, name))).find(isProgram);
}

function isProgram(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

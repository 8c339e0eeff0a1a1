/**
 * Tests the client in Chromium: `npm run test:browser`. CHROMIUM names the browser; otherwise it is searched in the PATH.
 *
 * The last line is "N passed, N failed", or "skipped: no Chromium" where there is none; with REQUIRE_BROWSER=1 that is a failure.
 */
import path from "node:path";
import { findChromium } from "./find-program.ts";

const chromium = findChromium();
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

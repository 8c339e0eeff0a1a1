import assert from "node:assert/strict";
import { globSync, readFileSync } from "node:fs";
import path from "node:path";
import { brotliDecompressSync, gzipSync } from "node:zlib";
import { type Checks, signIn } from "./suite.ts";

const dist = path.resolve(import.meta.dirname, "../dist");
const signInBytesMax = 140_000;
const screenBytesMax = 45_000;
const builtBytesMax = 600_000;
const rowsInDocumentMax = 80;
const firstViewCallsMax = 4;

const furtherScreens = {
  "#/": "Deployment",
  "#/account": "Account",
  "#/operators": "Operators",
  "#/audit": "Audit log",
};

export const budgets: Checks = {
  async "the sign-in loads at most 140 KB, and the list of applications at most 250 KB together with it"({
    open,
    server,
  }) {
    const page = await open();
    const loaded: string[] = await page.evaluate(() =>
      performance.getEntriesByType("resource").map(({ name }) => name),
    );
    assert.ok(sizeOf(loaded) <= signInBytesMax, `the sign-in loads ${sizeOf(loaded)} bytes`);
    await signIn(page, server);
    const then: string[] = await page.evaluate(() => performance.getEntriesByType("resource").map(({ name }) => name));
    assert.ok(sizeOf(then) <= 250_000, `both load ${sizeOf(then)} bytes`);
  },

  async "a further screen loads at most 45 KB, and asks at most four times"({ open, server }) {
    const page = await open();
    await signIn(page, server);
    for (const [screen, heading] of Object.entries(furtherScreens)) {
      const before = await page.evaluate(() => performance.getEntriesByType("resource").length);
      await page.goto(`${server.url}/_/console/${screen}`);
      await page.getByRole("heading", { level: 1, name: heading }).waitFor();
      const loaded: string[] = await page.evaluate(
        (count) =>
          performance
            .getEntriesByType("resource")
            .slice(count)
            .map(({ name }) => name),
        before,
      );
      const calls = loaded.filter((name) => name.includes("/_/api/"));
      assert.ok(calls.length <= firstViewCallsMax, `${screen} calls ${calls.join(", ")}`);
      assert.ok(sizeOf(loaded) <= screenBytesMax, `${screen} loads ${sizeOf(loaded)} bytes`);
    }
  },

  async "the whole folder is at most 0.6 MB"() {
    const sizes = globSync("**/*", { cwd: dist, withFileTypes: true })
      .filter((file) => file.isFile())
      .map((file) => readFileSync(path.join(file.parentPath, file.name)).length);
    const total = sizes.reduce((sum, size) => sum + size, 0);
    assert.ok(total <= builtBytesMax, `${total} bytes`);
  },

  async "at most 80 rows of a long list are in the document"({ open, server }) {
    const page = await open();
    await signIn(page, server);
    await page.route("**/_/api/audit?*", (route) => route.fulfill({ json: { success: true, result: longPage } }));
    await page.goto(`${server.url}/_/console/#/audit`);
    await page.getByRole("grid").focus();
    await page.waitForLoadState("networkidle"); // what arrives late may take the focus with it
    const rows = page.getByRole("row");
    await rows.nth(1).focus();
    for (const key of ["End", "Home", "PageDown", "End"]) {
      await page.keyboard.press(key);
      await page.waitForFunction(() => document.activeElement?.getAttribute("role") === "row");
      assert.ok((await rows.count()) <= rowsInDocumentMax, `${await rows.count()} rows`);
    }
  },
};

/** More rows than a page of the server has, so that the list is long at once. */
const longPage = {
  pageResults: Array.from({ length: 100_000 }, (_, index) => ({
    id: `aud_${index}`,
    at: `/Date(${1_700_000_000_000 - index})/`,
    actor: { kind: "system" },
    action: "runMaintenance",
    details: {},
  })),
  currentToken: "-",
};

/** What a browser downloads of these addresses with gzip, in bytes; only files of the build count. */
function sizeOf(addresses: readonly string[]): number {
  const names = new Set(addresses.flatMap((address) => /\/_\/console\/(assets\/[^?#]+)/.exec(address)?.[1] ?? []));
  return [...names]
    .map((name) => gzipSync(brotliDecompressSync(readFileSync(path.join(dist, `${name}.br`))), { level: 9 }).length)
    .reduce((sum, size) => sum + size, 0);
}

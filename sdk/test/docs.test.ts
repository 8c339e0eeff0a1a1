import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { globSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { after, before, describe, it } from "node:test";
import { pathToFileURL } from "node:url";
import { promisify } from "node:util";
import { startTestApp, type TestApp } from "../../server/test/harness.ts";
import { compilePrograms } from "./compile-programs.ts";
import { importSources } from "./source-imports.ts";

/**
 * The blocks of each page about the client are compiled, run from top to bottom against a server, and print the
 * documented output.
 */

const root = path.resolve(import.meta.dirname, "../..");
const pages = ["sdk/README.md", ...globSync("docs/build/client/*.md", { cwd: root }).sort()];
const run = promisify(execFile);

let test: TestApp;
let folder: string;
before(async () => {
  test = await startTestApp();
  folder = mkdtempSync(path.join(tmpdir(), "rollcall-sdk-pages-"));
});
after(async () => {
  rmSync(folder, { recursive: true, force: true });
  await test.close();
});

/** The TypeScript of a page, with a new application on this server in place of the page's. */
async function programOf(page: string): Promise<string> {
  const { appid, appkey } = await test.createApplication();
  const blocks = [...readPage(page).matchAll(/^```ts\n(.*?)^```$/gms)].map(([, block = ""]) => block);
  const program = blocks
    .join("\n")
    .replaceAll("http://127.0.0.1:8080", test.url)
    .replaceAll("app_…", appid)
    .replaceAll("rk_…", appkey);
  return importSources(program);
}

function readPage(page: string): string {
  return readFileSync(path.join(root, page), "utf8");
}

describe("the pages about the client", () => {
  it("contain only examples that compile", async () => {
    const files = [];
    for (const [index, page] of pages.entries()) {
      files.push(`page-${index}.ts`);
      writeFileSync(path.join(folder, `page-${index}.ts`), await programOf(page));
    }
    assert.equal(await compilePrograms(folder, files), "");
  });

  for (const page of pages) {
    it(`${page} runs, and prints the documented output`, async () => {
      const program = path.join(folder, `${path.basename(page)}.ts`);
      writeFileSync(program, await programOf(page));
      const env = { PATH: process.env["PATH"], TMPDIR: folder };
      const { stdout } = await run(process.execPath, [pathToFileURL(program).pathname], { env, timeout: 300_000 });
      const promised = [...readPage(page).matchAll(/console\.log\(.*\);? ?\/\/ → (.*)$/gm)].map(([, line]) => line);
      assert.deepEqual(stdout.trim().split("\n"), promised);
    });
  }

  it("contain only code blocks that are run", () => {
    for (const page of pages) {
      const languages = [...readPage(page).matchAll(/^```(\w+)$/gm)].map(([, language]) => language);
      assert.deepEqual(
        languages.filter((language) => language !== "ts" && language !== "sh"),
        [],
        page,
      );
    }
  });
});

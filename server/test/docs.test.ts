// Runs on one engine: no database takes part.
import assert from "node:assert/strict";
import { existsSync, readdirSync, statSync } from "node:fs";
import { basename, dirname, join, normalize } from "node:path/posix";
import { describe, it } from "node:test";
import { filesBelow, headingsOf, readText, root, withoutCode } from "./documents.ts";

/** Links and paths in the documents lead to files that exist. */

const documents = ["README.md", "CONTRIBUTING.md", ...filesBelow("docs").filter((file) => file.endsWith(".md"))];
const folders = readdirSync(root).filter((name) => !name.startsWith(".") && statSync(join(root, name)).isDirectory());
const sourceFolders = readdirSync(join(root, "server/src"), { withFileTypes: true })
  .filter((entry) => entry.isDirectory())
  .map(({ name }) => name);
const fileNames = new Set(
  [...folders.filter((name) => name !== "node_modules").flatMap(filesBelow), ...readdirSync(root)].map((file) =>
    basename(file),
  ),
);

/** The example resource of CONTRIBUTING.md. */
const example = /\bnotes\b/;

function exists(path: string): boolean {
  return existsSync(join(root, path));
}

describe("documents", () => {
  it("link to files and headings that exist", () => {
    const broken = documents.flatMap((document) =>
      [...withoutCode(readText(document)).matchAll(/\]\((?!\w+:)([^)#\s]*)(?:#([^)\s]+))?\)/g)]
        .filter(([, path = "", anchor]) => {
          const target = path === "" ? document : normalize(join(dirname(document), path));
          if (!exists(target)) return true;
          return anchor !== undefined && !headingsOf(readText(target)).some((heading) => heading.anchor === anchor);
        })
        .map(([link]) => `${document}: ${link}`),
    );
    assert.deepEqual(broken, []);
  });

  it("name existing paths, from the root, from server or from server/src", () => {
    const starts = new Set([...folders, ...sourceFolders, "src", "test"]);
    const wrong = documents.flatMap((document) =>
      [...withoutCode(readText(document)).matchAll(/`([\w.-]+(?:\/[\w.-]+)*(?:\.(?:ts|mjs|md|json|ya?ml)|\/))`/g)]
        .map(([, path = ""]) => path)
        .filter((path) => {
          if (example.test(path)) return false;
          if (!path.includes("/")) return path.endsWith(".ts") && !fileNames.has(path);
          if (!starts.has(path.split("/")[0] ?? "")) return false;
          return !["", "server", "server/src"].some((start) => exists(join(start, path)));
        })
        .map((path) => `${document}: ${path}`),
    );
    assert.deepEqual(wrong, []);
  });

  it("docs/contributing/architecture.md maps every folder of server/src", () => {
    const text = readText("docs/contributing/architecture.md");
    assert.deepEqual(
      sourceFolders.filter((name) => !text.includes(`${name}/`)),
      [],
    );
  });

  it("every page is in the index of docs/spec, of docs/run, or in docs/README.md", () => {
    for (const folder of ["docs/spec", "docs/run"]) {
      const index = readText(`${folder}/README.md`);
      const missing = filesBelow(folder).filter((file) => !index.includes(`(${basename(file)})`));
      assert.deepEqual(missing, [`${folder}/README.md`]);
    }
    const index = readText("docs/README.md");
    const others = documents.filter((file) => /^docs\/(?!spec|run|contributing\/decisions|README)/.test(file));
    assert.deepEqual(
      others.filter((file) => !index.includes(`(${file.slice("docs/".length)})`)),
      [],
    );
  });
});

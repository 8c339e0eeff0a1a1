// Runs on one engine: no database takes part.
import assert from "node:assert/strict";
import path from "node:path";
import { describe, it } from "node:test";
import { findPhrases, readWrittenFiles } from "../../scripts/word-list.ts";

function findIn(file: string, ...lines: string[]): string[] {
  return findPhrases([{ path: file, text: lines.join("\n") }]);
}

describe("the word list", () => {
  it("has no phrase that the project uses", () => {
    const files = readWrittenFiles(path.resolve(import.meta.dirname, "../.."));
    for (const file of [
      "README.md",
      "docs/contributing/glossary.md",
      "server/src/app/app.ts",
      "server/test/imports.test.ts",
    ]) {
      assert.ok(files.some((each) => each.path === file));
    }
    assert.ok(files.every((each) => !each.path.includes("node_modules")));
    assert.deepEqual(findPhrases(files), []);
  });

  it("finds phrases in every kind of comment, with line and advice", () => {
    assert.deepEqual(
      findIn(
        "server/src/a.ts",
        "/** As it were, a comment. */",
        "export const a = 1; // Hitherto",
        "  // it ran hitherto",
        "/**",
        " * Is as",
        " * it were.",
        " */",
      ),
      [
        'server/src/a.ts:1: "As it were": leave it out',
        'server/src/a.ts:2: "Hitherto": write "until now"',
        'server/src/a.ts:3: "hitherto": write "until now"',
        'server/src/a.ts:5: "as it were": leave it out',
      ],
    );
  });

  it("finds phrases in test titles, including titles on a separate line", () => {
    assert.deepEqual(
      findIn(
        "verify/a.ts",
        'describe("hitherto", () => {',
        "  it(",
        "    `runs it hitherto`,",
        "  );",
        '  test("ok \\" hitherto");',
      ),
      ["verify/a.ts:1", "verify/a.ts:2", "verify/a.ts:5"].map((place) => `${place}: "hitherto": write "until now"`),
    );
  });

  it("finds phrases in documents, but not in their code", () => {
    assert.deepEqual(
      findIn("docs/a.md", "It ran hitherto.", "`hitherto`", "```", "hitherto", "```", "It is as", "it were."),
      ['docs/a.md:1: "hitherto": write "until now"', 'docs/a.md:6: "as it were": leave it out'],
    );
  });

  it("ignores code, parts of words and phrases across code", () => {
    assert.deepEqual(
      findIn(
        "server/src/a.ts",
        'const hitherto = "hitherto";',
        "// hithertos, hitherto-known, `hitherto`",
        "// as it",
        "wait();",
        "// were",
      ),
      [],
    );
  });
});

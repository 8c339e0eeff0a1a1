// Runs on one engine: no database takes part.
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { filesBelow, headingsOf, readText } from "./documents.ts";

/**
 * Code and tests cite the specification as `spec/<page>#<anchor>`: each citation leads to a rule, and each rule has a
 * test.
 */

const pages = new Map(
  filesBelow("docs/spec").map((path) => [path.replace(/^docs\/spec\/(.*)\.md$/, "$1"), headingsOf(readText(path))]),
);
const rules = [...pages].flatMap(([page, headings]) =>
  headings.filter(({ level }) => level === 3).map(({ anchor }) => `${page}#${anchor}`),
);

interface Citation {
  readonly file: string;
  readonly page: string;
  readonly anchor: string | undefined;
}

const citations: readonly Citation[] = [
  "server/src",
  "server/test",
  "verify",
  "fuzz",
  "faults",
  "bench",
  "scripts",
  "console/test",
]
  .flatMap(filesBelow)
  .filter((file) => /\.(ts|mjs)$/.test(file))
  .flatMap((file) =>
    [...readText(file).matchAll(/(?<![\w/])spec\/([a-z]+)(?:#([a-z0-9]+(?:-[a-z0-9]+)*))?(?![\w</-]|\.md)/g)].map(
      ([, page = "", anchor]) => ({ file, page, anchor }),
    ),
  );

describe("citations of docs/spec", () => {
  it("lead to pages and headings that exist", () => {
    assert.ok(citations.length > 500, `only ${citations.length} citations were found`);
    const broken = citations.filter(({ page, anchor }) => {
      const headings = pages.get(page);
      return headings === undefined || (anchor !== undefined && !headings.some((heading) => heading.anchor === anchor));
    });
    assert.deepEqual(broken, []);
  });

  it("every rule is cited by a test", () => {
    assert.ok(rules.length > 150, `only ${rules.length} rules were found`);
    const tested = new Set(
      citations
        .filter(({ file }) => file.endsWith(".test.ts") || /^(verify\/checks|console\/test)\//.test(file))
        .map(({ page, anchor }) => `${page}#${anchor}`),
    );
    assert.deepEqual(
      rules.filter((rule) => !tested.has(rule)),
      [],
    );
  });

  it("no citation leads to a document that docs/spec has replaced", () => {
    const old = /\b(?:surface|service|people-\d)\.md|spec-gaps/;
    const citing = ["server/src", "server/test", "verify", "docs"]
      .flatMap(filesBelow)
      .concat("README.md", "CONTRIBUTING.md")
      .filter((file) => file !== "server/test/spec.test.ts" && /\.(ts|md)$/.test(file) && old.test(readText(file)));
    assert.deepEqual(citing, []);
  });
});

// Runs on one engine: no database takes part.
import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import path from "node:path";
import { describe, it } from "node:test";
import { scenarios } from "../../faults/scenarios.ts";

/** Every hostile case of docs/contributing/hostile.md names existing tests. */

const server = path.resolve(import.meta.dirname, "..");
const document = readFileSync(path.join(server, "../docs/contributing/hostile.md"), "utf8");
const rows = document.split("\n").filter((line) => /^\| \d/.test(line));

interface NamedTest {
  readonly file: string;
  readonly name: string;
}

/** Parses the tests of a cell, one per line: `file` › "name". */
function testsOf(row: string): NamedTest[] {
  return [...row.matchAll(/`([\w./-]+\.test\.ts)` › "(.+?)"(?=<br>| \|)/g)].map(([, file = "", name = ""]) => ({
    file,
    name,
  }));
}

/** Parses the scenarios of the fault tests in the same cells. */
function scenariosOf(row: string): string[] {
  return [...row.matchAll(/`npm run test:faults` › "(.+?)"(?=<br>| \|)/g)].map(([, name = ""]) => name);
}

function hasTest(text: string, name: string): boolean {
  const escaped = name.replaceAll(/[.*+?^$()|[\]{}\\]/g, "\\$&");
  const quoted = ["'", '"', "`"].map((quote) => `${quote}${escaped}${quote}`);
  return new RegExp(`\\b(?:describe|it|test)\\(\\s*(?:${quoted.join("|")})\\s*[,)]`).test(text);
}

describe("docs/contributing/hostile.md", () => {
  it("has every case once, in order", () => {
    const numbers = rows.map((row) => Number(/^\| (\d+) \|/.exec(row)?.[1]));
    assert.deepEqual(
      numbers,
      Array.from({ length: 57 }, (_, index) => index + 1),
    );
  });

  it("names a test for each case, or marks it as open", () => {
    for (const row of rows) assert.ok(testsOf(row).length > 0 || row.includes("**open**"), row);
  });

  it("names every scenario, and only existing ones", () => {
    const named = new Set(rows.flatMap(scenariosOf)); // a scenario may show two cases
    assert.deepEqual([...named].toSorted(), scenarios.map(({ name }) => name).toSorted());
  });

  it("names existing tests only", () => {
    const wrong = rows
      .flatMap((row) => testsOf(row))
      .filter(({ file, name }) => {
        const found = path.join(server, file);
        return !existsSync(found) || !hasTest(readFileSync(found, "utf8"), name);
      });
    assert.deepEqual(wrong, []);
    for (const row of rows) assert.equal(testsOf(row).length, row.match(/\.test\.ts/g)?.length ?? 0, row);
  });
});

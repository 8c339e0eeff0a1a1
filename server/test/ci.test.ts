// Runs on one engine: it tests a script.
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import { root } from "./documents.ts";

/** `.ci/run` with suites that only print a line. */

const folder = mkdtempSync(join(tmpdir(), "rollcall-ci-"));
after(() => rmSync(folder, { recursive: true, force: true }));
mkdirSync(join(folder, ".ci"));
mkdirSync(join(folder, "bin"));
copyFileSync(join(root, ".ci/run"), join(folder, ".ci/run"));
for (const browser of ["chromium", "chromium-headless-shell"]) writeProgram(browser, "");

/** Replaces npm: `npm ci`, or `npm run --silent <suite>`. */
writeProgram(
  "npm",
  `case "$*" in
  ci*) exit 0 ;;
  "run --silent test") echo "$TESTS"; exit "$TESTS_CODE" ;;
  "run --silent test -- --rest") echo "20 passed, 0 failed" ;;
  "run --silent $FAILING") echo "✖ it broke"; exit 3 ;;
  "run --silent $HANGING") exec sleep 60 ;;
  *) echo "done: $*" ;;
esac`,
);

function writeProgram(name: string, script: string): void {
  writeFileSync(join(folder, "bin", name), `#!/bin/sh\n${script}\n`, { mode: 0o755 });
}

interface Outcome {
  readonly code: number;
  readonly lines: readonly string[];
}

function run(settings: Readonly<Record<string, string>>, script = ".ci/run"): Promise<Outcome> {
  const PATH = `${join(folder, "bin")}:${process.env["PATH"]}`;
  const env = {
    PATH,
    TMPDIR: folder,
    TESTS: "100 passed, 0 failed, 3 skipped",
    TESTS_CODE: "0",
    FAILING: "none",
    HANGING: "none",
    ...settings,
  };
  return new Promise((resolve) => {
    execFile("bash", [join(folder, script)], { env, timeout: 60_000 }, (error, stdout) => {
      resolve({ code: Number(error?.code ?? 0), lines: stdout.trim().split("\n") });
    });
  });
}

const suites = ["check", "test:fuzz", "test:package", "test:generators", "test:console", "test:faults", "test:browser"];

describe(".ci/run", { skip: process.platform !== "linux" }, () => {
  it("counts tests separately and other suites as one, and prints the duration of each", async () => {
    const { code, lines } = await run({});
    assert.equal(lines.at(-1), `${120 + suites.length} passed, 0 failed`);
    assert.equal(code, 0);
    for (const suite of ["test", "test -- --rest", ...suites]) {
      assert.ok(
        lines.some((line) => line.startsWith(`npm run ${suite}`) && / \d+ s$/.test(line)),
        suite,
      );
    }
  });

  it("fails if a suite fails, and repeats its output at the end", async () => {
    const { code, lines } = await run({ FAILING: "test:faults" });
    assert.equal(lines.at(-1), `${120 + suites.length - 1} passed, 1 failed`);
    assert.equal(code, 1);
    assert.equal(lines.filter((line) => line === "✖ it broke").length, 2);
    assert.equal(lines.filter((line) => line === "✖ npm run test:faults, exit code 3").length, 2);
  });

  const failures: readonly [name: string, tests: string, code: string, counted: string][] = [
    ["tests fail", "98 passed, 2 failed", "1", `${118 + suites.length} passed, 2 failed`],
    ["no test runs", "0 passed, 0 failed", "1", `${20 + suites.length} passed, 1 failed`],
    ["the tests do not run to their end", "Segmentation fault", "139", `${20 + suites.length} passed, 1 failed`],
    ["the tests print no count", "", "0", `${20 + suites.length} passed, 1 failed`],
  ];
  for (const [name, tests, testsCode, counted] of failures) {
    it(`fails when ${name}`, async () => {
      const { code, lines } = await run({ TESTS: tests, TESTS_CODE: testsCode });
      assert.equal(lines.at(-1), counted);
      assert.equal(code, 1);
    });
  }

  const text = readFileSync(join(root, ".ci/run"), "utf8");

  it("fails when a lane ends early", async () => {
    writeFileSync(join(folder, ".ci/early"), text.replace("  suite test:faults\n", "  suite $missing\n"));
    const { code, lines } = await run({}, ".ci/early");
    assert.equal(lines.at(-1), `${120 + suites.length - 2} passed, 1 failed`);
    assert.equal(code, 1);
  });

  it("stops a suite that hangs, and runs the others", async () => {
    writeFileSync(join(folder, ".ci/hasty"), text.replace(/secondsMax=\d+/, "secondsMax=5"));
    const { lines } = await run({ HANGING: "test:console" }, ".ci/hasty");
    assert.equal(lines.at(-1), `${120 + suites.length - 1} passed, 1 failed`);
    assert.ok(lines.includes("✖ npm run test:console, exit code 124"));
  });
});

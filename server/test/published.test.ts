// Runs on one engine: it tests pages and documents, which no statement reads.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import path from "node:path";
import { after, before, describe, it } from "node:test";
import { renderPublished } from "../../scripts/published.ts";
import { loadConfig } from "../src/config/config.ts";
import { startTestApp, type TestApp } from "./harness.ts";

const root = path.resolve(import.meta.dirname, "../..");
let test: TestApp;
before(async () => {
  test = await startTestApp();
});
after(() => test.close());

describe("published files", () => {
  const documents = ["docs/openapi.json", "docs/openapi.operators.json"];
  const generated = ["types", "calls", "errors", "admin", "dates"].map((name) => `sdk/src/generated/${name}.ts`);
  for (const file of [...documents, "docs/build/errors.md", "docs/run/metrics.md", ".env.example", ...generated]) {
    it(`${file} matches the code (npm run docs writes it)`, () => {
      assert.equal(readFileSync(path.join(root, file), "utf8"), renderPublished(test.app)[file]);
    });
  }

  for (const file of documents) {
    it(`${file} takes at most 2,700 bytes per operation`, () => {
      const text = readFileSync(path.join(root, file), "utf8");
      const operations = Object.values<object>(JSON.parse(text).paths).flatMap(Object.keys).length;
      const bytes = Math.ceil(Buffer.byteLength(text) / operations);
      assert.ok(bytes <= 2_700, `${bytes} bytes`);
    });
  }

  it("a shell can read .env.example, and its values are the defaults", () => {
    const command = "set -e -a; . ./.env.example; exec env -0";
    const options = { cwd: root, env: { PATH: process.env["PATH"] }, encoding: "utf8" } as const;
    const read = execFileSync("sh", ["-c", command], options).split("\0").filter(Boolean);
    const environment = Object.fromEntries(read.map((line) => /^([^=]+)=(.*)$/s.exec(line)?.slice(1) ?? []));
    assert.deepEqual(loadConfig(environment), loadConfig({}));
  });

  it("the lockfile names no registry host", () => {
    assert.doesNotMatch(readFileSync(path.join(root, "package-lock.json"), "utf8"), /https?:\/\/[^"]*registry/);
  });
});

// Runs on one engine: no database takes part.
import assert from "node:assert/strict";
import path from "node:path";
import { describe, it } from "node:test";
import { findLadderViolations, readServerSources } from "../../scripts/import-ladder.ts";

/** Finds the violations among files, given as path below server/src -> imported specifiers. */
function check(tree: Record<string, string[]>): string[] {
  const files = Object.entries(tree).map(([file, specifiers]) => ({
    path: `server/src/${file}`,
    text: specifiers.map((specifier) => `import { it } from "${specifier}";\n`).join(""),
  }));
  return findLadderViolations(files);
}

describe("the import ladder", () => {
  it("holds in server/src", () => {
    const sources = readServerSources(path.resolve(import.meta.dirname, "../.."));
    assert.ok(sources.length > 0);
    assert.deepEqual(findLadderViolations(sources), []);
  });

  it("allows imports to the left, within a folder and of packages", () => {
    const tree = {
      "lib/ids.ts": ["node:crypto", "./errors.ts"],
      "config/config.ts": ["../lib/ids.ts", "../../package.json"],
      "db/database.ts": ["kysely", "./dialect.ts", "../config/config.ts"],
      "db/migrations/0001-start.ts": ["../dialect.ts"],
      "contract/route.ts": ["../lib/errors.ts", "../lib/ids.ts"],
      "operations/envelope.ts": ["../contract/file-result.ts"],
      "http/exchange.ts": ["../operations/envelope.ts", "../contract/route.ts"],
      "auth/caller.ts": ["../contract/route.ts", "../db/database.ts"],
      "users/users.routes.ts": ["./users.store.ts", "../auth/caller.ts", "../contract/route.ts"],
      "app/app.ts": ["../users/users.routes.ts", "../checkins/checkins.routes.ts"],
      "cli/run.ts": ["../users/users.store.ts", "../app/app.ts"],
      "main.ts": ["./app/app.ts", "./config/config.ts"],
    };
    assert.deepEqual(check(tree), []);
  });

  it("exempts tests", () => {
    assert.deepEqual(check({ "lib/ids.test.ts": ["../app/app.ts", "../../test/harness.ts"] }), []);
  });

  const violations: [rule: string, file: string, specifier: string, reason: string][] = [
    ["slices import slices", "users/users.routes.ts", "../checkins/checkins.store.ts", "slices do not import slices"],
    ["lib imports ours", "lib/seal.ts", "../config/log.ts", "lib imports nothing of ours"],
    ["db imports http", "db/database.ts", "../http/exchange.ts", "db is left of http, and imports go only left"],
    ["contract imports db", "contract/a.ts", "../db/a.ts", "contract and db do not import each other"],
    [
      "contract imports operations",
      "contract/a.ts",
      "../operations/a.ts",
      "contract is left of operations, and imports go only left",
    ],
    [
      "operations import http",
      "operations/a.ts",
      "../http/a.ts",
      "operations is left of http, and imports go only left",
    ],
    ["config imports db", "config/a.ts", "../db/dialect.ts", "config is left of db, and imports go only left"],
    ["http imports auth", "http/mount.ts", "../auth/caller.ts", "http is left of auth, and imports go only left"],
    ["auth imports a slice", "auth/a.ts", "../users/a.ts", "auth is left of users, and imports go only left"],
    ["an engine imports http", "metrics/engine/a.ts", "../../contract/route.ts", "an engine knows no HTTP"],
    ["an engine imports its routes", "metrics/engine/a.ts", "../metrics.routes.ts", "an engine knows no HTTP"],
    ["a slice imports app", "users/a.ts", "../app/app.ts", "users is left of app, and imports go only left"],
    [
      "mail imports auth",
      "mail/a.ts",
      "../auth/a.ts",
      "mail and auth are on the same step, and do not import each other",
    ],
    ["tenancy imports auth", "tenancy/a.ts", "../auth/a.ts", "tenancy is left of auth, and imports go only left"],
    ["app imports main", "app/app.ts", "../main.ts", "app is left of main.ts, and imports go only left"],
    ["code imports tests", "users/a.ts", "./users.test.ts", "only tests import tests"],
    ["an import leaves", "auth/a.ts", "../../test/h.ts", "server/src imports nothing of ours from outside itself"],
    ["an import is an alias", "auth/a.ts", "#db/tables.ts", "our own code is imported by relative path"],
    [
      "an import is by package name",
      "auth/a.ts",
      "rollcall/src/app/app.ts",
      "our own code is imported by relative path",
    ],
  ];
  for (const [rule, file, specifier, reason] of violations) {
    it(`finds that ${rule}`, () => {
      assert.deepEqual(check({ [file]: [specifier] }), [`server/src/${file} imports ${specifier}: ${reason}`]);
    });
  }

  it("finds barrels, and files without a step on the ladder", () => {
    assert.deepEqual(check({ "helpers.ts": [], "users/index.ts": [] }), [
      "server/src/helpers.ts: has no place on the ladder in scripts/import-ladder.ts",
      "server/src/users/index.ts: no barrels, import from the file itself",
    ]);
  });

  it("finds cycles, each once", () => {
    assert.deepEqual(check({ "db/a.ts": ["./b.ts"], "db/b.ts": ["./c.ts"], "db/c.ts": ["./b.ts"] }), [
      "server/src/db/b.ts -> server/src/db/c.ts -> server/src/db/b.ts: no cycles",
    ]);
  });

  it("finds cycles of folders without cycles of files", () => {
    const tree = {
      "config/log.ts": ["../workers/a.ts"],
      "workers/a.ts": ["node:os"],
      "workers/b.ts": ["../config/log.ts"],
    };
    assert.deepEqual(check(tree), ["config -> workers -> config: no cycles of folders"]);
  });

  it("reads every form of import, and ignores comments", () => {
    const forms = [
      'import type { A } from "../app/app.ts";',
      'export * from "../app/app.ts";',
      'import {\n  a,\n  b,\n} from "../app/app.ts";',
      'import "../app/app.ts";',
      'const app = await import("../app/app.ts");',
    ];
    for (const text of forms)
      assert.equal(findLadderViolations([{ path: "server/src/db/a.ts", text }]).length, 1, text);
    const comments = '/**\n * import "../app/app.ts"\n */\n  // import "../app/app.ts"\n';
    assert.deepEqual(findLadderViolations([{ path: "server/src/db/a.ts", text: comments }]), []);
  });
});

// Runs on one engine: no database takes part.
import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import path from "node:path";
import { describe, it } from "node:test";
import { longestFirst, mostlyWaits, readDurations, updateDurations } from "../../scripts/test-durations.ts";
import {
  dependsOnEngine,
  findMissingAreas,
  findUntestedAreas,
  needsOneEngine,
  startsProgram,
} from "../../scripts/test-selection.ts";
import { filesBelow, readText, root } from "./documents.ts";

const files = ["server/src", "server/test", "sdk/src", "sdk/test"].flatMap(filesBelow);
const tests = files.filter((file) => file.endsWith(".test.ts"));

describe("the test files that npm test runs on PostgreSQL", () => {
  const ofBothEngines = tests.filter((file) => !needsOneEngine(root, file));

  it("include the files of every source with locks, conflicts or SQL of one engine", () => {
    const sources = files.filter((file) => /^server\/src\/.*\.ts$/.test(file) && !file.endsWith(".test.ts"));
    assert.ok(sources.length > 0);
    const missing = findMissingAreas(sources.map((file) => ({ path: file, text: readText(file) })));
    assert.deepEqual(missing, [], "add it, with its tests, to engineAreas in scripts/test-selection.ts");
  });

  it("include every test with locks, conflicts or SQL of one engine", () => {
    const missing = findMissingAreas(ofBothEngines.map((file) => ({ path: file, text: readText(file) })));
    assert.deepEqual(missing, [], "add it to engineAreas in scripts/test-selection.ts");
  });

  it("include a test of every area", () => {
    assert.deepEqual(findUntestedAreas(ofBothEngines), []);
    assert.ok(findUntestedAreas([]).includes("server/src/db/"));
  });

  it("leave files to --rest", () => {
    assert.ok(dependsOnEngine("server/src/event-log/placing.test.ts"));
    assert.ok(!dependsOnEngine("server/src/users/users.login.test.ts"));
    assert.ok(ofBothEngines.includes("server/src/users/users.login.test.ts"));
  });

  const statements = {
    "a row lock": "select id from notes where id = $" + "{id} for update",
    "a lock of the dialect": "await lockName(database.dialect, `notes`, queries);",
    "a choice by the engine": "if (!dialect.hasRowLocks) return;",
    "a transaction that may lose a conflict": "if (isConflict(error)) return retry();",
    "SQL of PostgreSQL": "select count(*)::int from pg_stat_activity",
    "SQL of SQLite": "pragma optimize",
  };
  for (const [name, text] of Object.entries(statements)) {
    it(`miss a new folder with ${name}`, () => {
      assert.deepEqual(findMissingAreas([{ path: "server/src/notes/notes.store.ts", text }]), [
        "server/src/notes/notes.store.ts",
      ]);
      assert.deepEqual(findMissingAreas([{ path: "server/src/db/notes.ts", text }]), []);
    });
  }

  it("do not include a folder with plain statements", () => {
    const text = 'await queries.selectFrom("notes").selectAll().where("id", "=", id).execute(); // for each update';
    assert.deepEqual(findMissingAreas([{ path: "server/src/notes/notes.store.ts", text }]), []);
  });
});

describe("the bundle", () => {
  it("is made before files that start rollcall, themselves or through a helper", () => {
    assert.ok(startsProgram(root, "server/test/workers.test.ts"));
    assert.ok(startsProgram(root, "server/test/start-failures.database.process.test.ts"));
  });

  it("is not made for files that do not", () => {
    assert.ok(!startsProgram(root, "server/src/users/users.login.test.ts"));
    assert.ok(!startsProgram(root, "server/src/lib/ids.test.ts"));
  });
});

describe("the record of durations", () => {
  const durations = {
    "short.test.ts": { SQLite: [1, 1], PostgreSQL: [2, 40] },
    "long.test.ts": { SQLite: [30, 32] },
    "waiting.test.ts": { SQLite: [2, 60] },
  } as const;

  it("starts unknown files first, and then the longest on the engine", () => {
    const files = ["short.test.ts", "long.test.ts", "new.test.ts", "waiting.test.ts"];
    const onSqlite = ["new.test.ts", "waiting.test.ts", "long.test.ts", "short.test.ts"];
    assert.deepEqual(longestFirst(files, "SQLite", durations), onSqlite);
    const onPostgres = ["new.test.ts", "waiting.test.ts", "short.test.ts", "long.test.ts"];
    assert.deepEqual(longestFirst(files, "PostgreSQL", durations), onPostgres);
  });

  it("identifies files that mostly wait", () => {
    const files = ["short.test.ts", "long.test.ts", "new.test.ts", "waiting.test.ts"];
    assert.deepEqual(
      files.filter((file) => mostlyWaits(file, durations)),
      ["waiting.test.ts"],
    );
  });

  it("records the costs of a run, and drops files that no longer exist", () => {
    const costs = [{ file: "short.test.ts", processorMs: 3_400, totalMs: 5_600 }];
    assert.deepEqual(
      updateDurations(durations, "SQLite", costs, (file) => file !== "long.test.ts"),
      {
        "short.test.ts": { SQLite: [3, 6], PostgreSQL: [2, 40] },
        "waiting.test.ts": { SQLite: [2, 60] },
      },
    );
  });

  it("is not empty", () => {
    assert.ok(Object.keys(readDurations()).some((file) => existsSync(path.join(root, file))));
  });
});

// Runs on one engine: no database takes part.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import path from "node:path";
import { describe, it } from "node:test";
import { deploymentTables, tablesInErasureOrder } from "../src/db/table-catalogue.ts";

/** The Citus statements in docs/operations/postgresql.md cover every table. */

const document = readFileSync(path.join(import.meta.dirname, "../../docs/operations/postgresql.md"), "utf8");

/** Parents before the tables that refer to them. */
const distributed = ["applications", ...tablesInErasureOrder.toReversed()];
const references = ["schema_migrations", ...deploymentTables.toReversed()];

describe("docs/operations/postgresql.md", () => {
  it("distributes every table for Citus: tables of the deployment to every node, all others by their application", () => {
    const statements = [
      ...references.map((table) => `select create_reference_table('${table}');`),
      ...distributed.map((table, index) =>
        index === 0
          ? `select create_distributed_table('${table}', 'application_id');`
          : `select create_distributed_table('${table}', 'application_id', colocate_with => 'applications');`,
      ),
    ];
    const written = document.split("\n").filter((line) => line.startsWith("select create_"));
    assert.deepEqual(written, statements, `the statements are\n${statements.join("\n")}`);
  });
});

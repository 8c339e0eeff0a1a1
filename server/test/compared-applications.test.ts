// Runs on one engine: it reads sources.
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { findComparedApplications } from "./compared-applications.ts";
import { filesBelow, readText } from "./documents.ts";

describe("a distributed database", () => {
  it("finds the application of every subquery in a parameter, also in statements that no test runs", () => {
    const sources = filesBelow("server/src").filter((path) => path.endsWith(".ts") && !path.endsWith(".test.ts"));
    assert.ok(sources.length > 300);
    const found = sources.flatMap((path) => findComparedApplications(readText(path)).map((text) => `${path}: ${text}`));
    assert.deepEqual(found, []);
  });

  for (const text of [
    "where a.application_id = b.application_id",
    "select 1 from a where (a.application_id = b.application_id and a.id = b.id)",
    `where x = 1 and "a"."application_id" = "b"."application_id"`,
    "or\n  a.application_id = b.application_id",
    `.whereRef("a.application_id", "=", "b.application_id")`,
  ]) {
    it(`does not find it in ${JSON.stringify(text)}`, () => assert.equal(findComparedApplications(text).length, 1));
  }

  for (const text of [
    "join b on b.application_id = a.application_id",
    "join b on (b.application_id = a.application_id)",
    "where a.application_id = $1 and b.application_id = $1",
  ]) {
    it(`finds it in ${JSON.stringify(text)}`, () => assert.deepEqual(findComparedApplications(text), []));
  }
});

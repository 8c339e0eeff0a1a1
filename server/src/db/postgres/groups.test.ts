import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { sql } from "kysely";
import { reopenForEachTest } from "../../../test/databases.ts";
import { startPostgresProxy } from "../../../test/postgres-proxy.ts";
import { ApiError } from "../../lib/errors.ts";
import type { Queries } from "../database.ts";
import { isUniqueViolation } from "../dialect.ts";
import { openDatabase } from "../open.ts";

/** Behaviour of PostgreSQL only: writes that only add rows share a transaction. See database.test.ts for the rest. */

const skip = process.env["TEST_DATABASE_URL"] === undefined && "needs PostgreSQL";
const options = { connectionsMax: 6, timeoutMs: 10_000 };
const isUnavailable = (error: unknown) => error instanceof ApiError && error.condition === "ServiceUnavailable";

describe("concurrent writes of one application", { skip }, () => {
  const opened = reopenForEachTest(options); // no group has failed yet

  let count = 0;
  const newName = () => `row ${++count}`;

  async function insert(name: string, queries: Queries): Promise<string> {
    const row = { application_id: name, name, token_version: 0, created_at: 0, deleted_at: null };
    await queries.insertInto("applications").values(row).execute();
    return name;
  }

  function add(name: string, addsTo = "app"): Promise<string> {
    return opened.database.write(({ queries }) => insert(name, queries), { addsTo });
  }

  /** Adds rows while another write of the same group runs another statement. */
  async function addDuring<T>(other: Promise<T>): Promise<{ names: string[]; outcome: PromiseSettledResult<T> }> {
    const names = [newName(), newName(), newName()];
    const added = names.map((name) => add(name));
    const [outcome] = await Promise.allSettled([other]);
    assert.deepEqual(await Promise.all(added), names);
    assert.deepEqual(await stored(names), names);
    return { names, outcome };
  }

  async function stored(names: readonly string[]): Promise<string[]> {
    const rows = await opened.database.reads
      .selectFrom("applications")
      .select("name")
      .where("name", "in", names)
      .orderBy("created_at")
      .execute();
    return names.filter((name) => rows.some((row) => row.name === name));
  }

  function failing(name: string): Promise<never> {
    return opened.database.write(
      async ({ queries }) => {
        await insert(name, queries);
        throw new Error("on purpose");
      },
      { addsTo: "app" },
    );
  }

  function countCommits(): number {
    return opened.database.statistics().commits.sizes.counts.reduce((sum, each) => sum + each);
  }

  it("share one commit, and each resolves with its own result", async () => {
    const names = Array.from({ length: 20 }, newName);
    assert.deepEqual(await Promise.all(names.map((name) => add(name))), names);
    assert.deepEqual(await stored(names), names);
    assert.equal(countCommits(), 1);
    assert.equal(opened.database.statistics().commits.sizes.sum, 20);
  });

  it("have one commit per application when they are of several", async () => {
    await Promise.all(["a", "b", "a", "b"].map((application) => add(newName(), application)));
    assert.equal(countCommits(), 2);
  });

  it("need few commits even if they are many", async () => {
    const names = Array.from({ length: 200 }, newName);
    await Promise.all(names.map((name) => add(name)));
    assert.ok(countCommits() <= 4, `${countCommits()}`); // 64 in a group
    assert.deepEqual(await stored(names), names);
  });

  it("run their effects after the commit, each once", async () => {
    const effects: string[] = [];
    const names = [newName(), newName()];
    const written = names.map((name) =>
      opened.database.write(
        async ({ queries, afterCommit }) => {
          await insert(name, queries);
          afterCommit(() => effects.push(name));
        },
        { addsTo: "app" },
      ),
    );
    const failed = failing(newName());
    await Promise.all([...written, assert.rejects(failed, /on purpose/)]);
    assert.deepEqual(effects.toSorted(), names.toSorted());
  });

  it("are not affected by one that fails after it has written, and none of its rows remains", async () => {
    const name = newName();
    const { outcome } = await addDuring(failing(name));
    assert.ok(outcome.status === "rejected" && /on purpose/.test(String(outcome.reason)));
    assert.deepEqual(await stored([name]), []);
  });

  it("share one commit even if one of them fails before it has written", async () => {
    const refused = opened.database.write(
      async ({ queries }) => {
        await queries.selectFrom("applications").select("name").where("name", "=", "none").execute();
        throw new ApiError("ServiceUnavailable");
      },
      { addsTo: "app" },
    );
    const { outcome } = await addDuring(refused);
    assert.ok(outcome.status === "rejected" && isUnavailable(outcome.reason));
    assert.equal(countCommits(), 1);
  });

  it("are not affected by one that PostgreSQL refuses", async () => {
    const taken = await add(newName());
    const { outcome } = await addDuring(add(taken));
    assert.ok(outcome.status === "rejected" && isUniqueViolation(outcome.reason));
  });

  it("do not wait for a lock that one of them waits for", async () => {
    const locked = await add(newName());
    const held = Promise.withResolvers<void>();
    const release = Promise.withResolvers<void>();
    const holder = opened.database.write(async ({ queries }) => {
      await sql`select 1 from applications where application_id = ${locked} for update`.execute(queries);
      held.resolve();
      await release.promise;
    });
    await held.promise;
    const name = newName();
    const waiting = opened.database.write(
      async ({ queries }) => {
        await sql`select 1 from applications where application_id = ${locked} for share`.execute(queries);
        return insert(name, queries);
      },
      { addsTo: "app" },
    );
    const others = [newName(), newName()];
    assert.deepEqual(await Promise.all(others.map((other) => add(other))), others); // before the lock is released
    release.resolve();
    await holder;
    assert.equal(await waiting, name);
  });

  it("run in separate transactions when they lock rows exclusively, because members of a group would not exclude each other", async () => {
    const counter = await add(newName());
    const increment = () =>
      opened.database.write(
        async ({ queries }) => {
          const one = queries.selectFrom("applications").select("token_version");
          const found = await one.where("application_id", "=", counter).forUpdate().executeTakeFirstOrThrow();
          const row = { token_version: found.token_version + 1 };
          await queries.updateTable("applications").set(row).where("application_id", "=", counter).execute();
        },
        { addsTo: "app" },
      );
    await addDuring(Promise.all([increment(), increment(), increment(), increment()]));
    const row = await opened.database.reads
      .selectFrom("applications")
      .select("token_version")
      .where("application_id", "=", counter)
      .executeTakeFirst();
    assert.equal(row?.token_version, 4);
  });

  for (const [when, text] of [
    ["a statement", "insert into"],
    ["the commit", "commit"],
  ] as const) {
    it(`are written once each when the connection breaks before ${when}`, async (t) => {
      const proxy = await startPostgresProxy(opened.url);
      const cut = await openDatabase(proxy.url, options);
      t.after(async () => {
        await proxy.close();
        await cut.close();
      });
      await cut.ping();
      proxy.cutAt(text, "before", 1);
      const names = [newName(), newName(), newName()];
      const written = names.map((name) => cut.write(({ queries }) => insert(name, queries), { addsTo: "app" }));
      const outcomes = await Promise.allSettled(written);
      if (text === "insert into") assert.ok(outcomes.every(({ status }) => status === "fulfilled"));
      else assert.ok(outcomes.every((each) => each.status === "rejected" && isUnavailable(each.reason)));
      assert.deepEqual(await stored(names), text === "insert into" ? names : []);
    });
  }
});

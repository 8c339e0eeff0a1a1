import assert from "node:assert/strict";
import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { type AddressInfo, createServer } from "node:net";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { openDatabase } from "../src/db/open.ts";
import { createTestDeployment, type TestDeployment } from "./deployments.ts";
import { failureOf } from "./failing-starts.ts";

const isEmbedded = process.env["TEST_DATABASE_URL"] === undefined;

describe("a start that cannot use its database names DATABASE_URL, the target and the cause", () => {
  let deployment: TestDeployment;
  before(async () => {
    deployment = await createTestDeployment();
  });
  after(() => deployment.remove());

  it("when the file is not a database", { skip: !isEmbedded && "needs the embedded database" }, async () => {
    const file = join(deployment.folder, "text.db");
    writeFileSync(file, "this is no database\n".repeat(500));
    assert.equal(
      await failureOf({ DATABASE_URL: `file://${file}` }),
      `DATABASE_URL: ${file} is not an SQLite database (SQLITE_NOTADB).`,
    );
  });

  it("when the server has no such database or user, or takes no TLS", {
    skip: isEmbedded && "needs PostgreSQL",
  }, async () => {
    const { DATABASE_URL } = deployment.settings;
    const { host } = new URL(DATABASE_URL);
    const other = (change: (url: URL) => void) => {
      const changed = new URL(DATABASE_URL);
      change(changed);
      return failureOf({ DATABASE_URL: changed.href });
    };
    assert.equal(
      await other((to) => {
        to.pathname = "/nodb";
      }),
      `DATABASE_URL: database "nodb" does not exist on ${host}. Create it, or correct the name.`,
    );
    assert.equal(
      await other((to) => {
        to.username = "stranger";
        to.password = "pa55word";
      }),
      `DATABASE_URL: ${host} refuses the user "stranger": role "stranger" does not exist.`,
    );
    assert.match(
      await other((to) => to.searchParams.set("sslmode", "require")),
      /^DATABASE_URL: \S+ does not accept TLS connections, which sslmode requires \(ECONNRESET\)\.$/,
    );
  });
});

describe("a start whose port is in use", () => {
  it("leaves an empty database empty", {
    skip: isEmbedded && "needs PostgreSQL",
  }, async (t) => {
    const empty = await createTestDeployment({ isMigrated: false });
    t.after(empty.remove);
    const taken = createServer().listen(0, "127.0.0.1");
    t.after(() => taken.close());
    await once(taken, "listening");
    const { port } = taken.address() as AddressInfo;
    const { DATABASE_URL } = empty.settings;
    assert.match(await failureOf({ DATABASE_URL, PORT: `${port}` }), /^PORT: .* is in use/);
    const database = await openDatabase(DATABASE_URL, { connectionsMax: 1, timeoutMs: 5_000 });
    t.after(() => database.close());
    assert.deepEqual(await database.reads.introspection.getTables(), []);
  });
});

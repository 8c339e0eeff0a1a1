import assert from "node:assert/strict";
import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { type AddressInfo, connect, createServer } from "node:net";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { sql } from "kysely";
import { openDatabase } from "../src/db/open.ts";
import { createTestDeployment, type TestDeployment } from "./deployments.ts";
import { failureOf } from "./failing-starts.ts";
import { runProgram } from "./running-server.ts";

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

// spec/deployment#databases-that-are-refused
describe("a database that is not UTF-8", { skip: isEmbedded && "needs PostgreSQL" }, () => {
  it("is refused by a start and by doctor", async (t) => {
    const deployment = await createTestDeployment({ isMigrated: false });
    const database = await openDatabase(deployment.settings.DATABASE_URL, { connectionsMax: 1, timeoutMs: 60_000 });
    const name = `latin_${process.pid}`;
    await sql
      .raw(
        `create database ${name} encoding 'LATIN1' lc_collate 'C' lc_ctype 'C' locale_provider libc template template0`,
      )
      .execute(database.reads);
    t.after(async () => {
      await sql.raw(`drop database ${name} with (force)`).execute(database.reads);
      await database.close();
      await deployment.remove();
    });
    const url = new URL(deployment.settings.DATABASE_URL);
    url.pathname = `/${name}`;
    const settings = { ...deployment.settings, DATABASE_URL: url.href };
    assert.match(await failureOf(settings), /^DATABASE_URL: the encoding of the database is LATIN1, .*encoding 'UTF8'/);
    const { stdout } = await runProgram("src/cli/cli.ts", ["doctor"], settings);
    assert.match(stdout, /^fail {2}database {4}DATABASE_URL: the encoding of the database is LATIN1/m);
  });
});

describe("a Unix socket of PostgreSQL", () => {
  it("is used in every spelling", { skip: isEmbedded && "needs PostgreSQL" }, async (t) => {
    const deployment = await createTestDeployment();
    const { hostname, port, username, pathname } = new URL(deployment.settings.DATABASE_URL);
    const { folder } = deployment;
    const proxy = createServer((client) => {
      const server = connect(Number(port), hostname);
      client.pipe(server).pipe(client);
      for (const socket of [client, server]) socket.on("error", () => {});
    }).listen(join(folder, ".s.PGSQL.5432"));
    await once(proxy, "listening");
    t.after(async () => {
      proxy.close();
      await deployment.remove();
    });
    for (const url of [
      `postgres://${username}@${pathname}?host=${folder}`,
      `postgres://${username}@${encodeURIComponent(folder)}${pathname}`,
      `postgres://${username}@localhost${pathname}?host=${folder}`,
      `postgres://${username}@localhost:1${pathname}?host=${folder}&port=5432`,
    ]) {
      const { stdout } = await runProgram("src/cli/cli.ts", ["doctor"], { ...deployment.settings, DATABASE_URL: url });
      assert.match(stdout, /^ok {4}database/m, `${url}: ${stdout}`);
    }
    const backup = await runProgram("src/cli/cli.ts", ["backup", join(folder, "b.tar"), "--fast"], {
      ...deployment.settings,
      DATABASE_URL: `postgres://${username}@${pathname}?host=${folder}`,
    });
    assert.equal(backup.code, 0, backup.stderr);
  });

  it("that does not exist is named", async () => {
    assert.equal(
      await failureOf({ DATABASE_URL: "postgres://user:pa55word@/db?host=/no/such" }),
      "DATABASE_URL: cannot connect to /no/such/.s.PGSQL.5432 (ENOENT). Is PostgreSQL running there?",
    );
  });
});

describe("a start whose port is in use", () => {
  it("does not change an empty database", {
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

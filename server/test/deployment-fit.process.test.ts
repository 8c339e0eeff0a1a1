import assert from "node:assert/strict";
import { rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { after, afterEach, before, describe, it } from "node:test";
import { sql } from "kysely";
import { deploymentFacts } from "../src/db/migrations/0062-deployment-facts.ts";
import { openDatabase } from "../src/db/open.ts";
import { createTestApplication, createTestDeployment, signUpAt, type TestDeployment } from "./deployments.ts";
import { failureOf } from "./failing-starts.ts";
import { send } from "./harness.ts";
import { killRunningServers, runProgram, startProgram } from "./running-server.ts";

const isEmbedded = process.env["TEST_DATABASE_URL"] === undefined;
afterEach(killRunningServers);

/** Starts a server, makes a call, and stops the server. @returns the status of the call with the token */
async function serveOnce(settings: Readonly<Record<string, string>>, token: string): Promise<number> {
  const server = await startProgram(settings);
  const { status } = await send(server.port, "GET", "/users/me", { token });
  assert.equal(await server.end("SIGTERM"), 0);
  return status;
}

// spec/deployment#processes-that-fit
describe("a start that does not fit the deployment", () => {
  let deployment: TestDeployment;
  let settings: Readonly<Record<string, string>>;
  let token: string;
  before(async () => {
    deployment = await createTestDeployment();
    settings = deployment.settings;
    const application = await createTestApplication(deployment.settings);
    const server = await startProgram(settings);
    ({ token } = await signUpAt(server.port, application));
    assert.equal(await server.end("SIGTERM"), 0);
  });
  after(() => deployment.remove());

  it("is refused with another secret until an operator accepts it, by serve, by doctor and by commands that seal", async () => {
    const other = { ...settings, ROLLCALL_SECRET: "another secret for tests" };
    assert.match(
      await failureOf(other),
      /^ROLLCALL_SECRET is not the secret of this deployment\. .*`rollcall accept --new-secret`/,
    );
    const { code, stdout } = await runProgram("src/cli/cli.ts", ["doctor"], other);
    assert.equal(code, 1);
    assert.match(stdout, /^fail {2}deployment {2}ROLLCALL_SECRET is not the secret of this deployment/m);
    const backup = await runProgram("src/cli/cli.ts", ["backup", join(deployment.folder, "b.tar")], other);
    assert.deepEqual([backup.code, backup.stderr.includes("ROLLCALL_SECRET is not the secret")], [1, true]);
    assert.equal(await serveOnce(settings, token), 200);

    const accepted = await runProgram("src/cli/cli.ts", ["accept", "--new-secret"], other);
    assert.deepEqual([accepted.code, accepted.stderr], [0, ""]);
    assert.equal(await serveOnce(other, token), 401);
    assert.match(await failureOf(settings), /^ROLLCALL_SECRET is not the secret/);
    assert.equal((await runProgram("src/cli/cli.ts", ["accept", "--new-secret"], settings)).code, 0);
    assert.equal(await serveOnce(settings, token), 200);
  });

  it("is not caused by a backup, whose age doctor reports", async () => {
    const backup = await runProgram(
      "src/cli/cli.ts",
      ["backup", join(deployment.folder, "known.tar"), "--fast"],
      settings,
    );
    assert.deepEqual([backup.code, backup.stderr], [0, ""]);
    const { stdout } = await runProgram("src/cli/cli.ts", ["doctor"], settings);
    assert.match(stdout, /^ok {4}backup {6}the newest backup is 0 days old and has \d+ MiB$/m);
  });

  it("is refused in another region until an operator accepts it", async () => {
    const other = { ...settings, REGION: "eu" };
    assert.match(
      await failureOf(other),
      /^REGION is eu, but the database is that of the region main\. Set REGION=main.*`rollcall accept --new-region`/,
    );
    const { stdout } = await runProgram("src/cli/cli.ts", ["doctor"], other);
    assert.match(stdout, /^fail {2}deployment {2}REGION is eu/m);
    assert.equal((await runProgram("src/cli/cli.ts", ["accept", "--new-region"], other)).code, 0);
    assert.equal(await serveOnce(other, token), 401);
    assert.equal((await runProgram("src/cli/cli.ts", ["accept", "--new-region"], settings)).code, 0);
    assert.equal(await serveOnce(settings, token), 200);
  });
});

describe("a start without the secret of its folder", { skip: !isEmbedded && "needs the embedded database" }, () => {
  it("is refused and creates no secret, until an operator accepts a new one", async (t) => {
    const { settings, folder, remove } = await createTestDeployment();
    t.after(remove);
    const application = await createTestApplication(settings);
    const stored = { DATA_DIR: settings.DATA_DIR, DATABASE_URL: settings.DATABASE_URL };
    const server = await startProgram(stored);
    const { token } = await signUpAt(server.port, application);
    assert.equal(await server.end("SIGTERM"), 0);

    rmSync(join(folder, "secret"));
    for (const _ of ["first", "second"])
      assert.match(
        await failureOf({ ...stored, ROLLCALL_SECRET: "" }),
        /^DATA_DIR: \S+\/secret is missing, .*accept --new-secret/,
      );
    const { stdout } = await runProgram("src/cli/cli.ts", ["doctor"], stored);
    assert.match(stdout, /^fail {2}deployment {2}DATA_DIR: \S+\/secret is missing/m);
    assert.equal(statSync(join(folder, "secret"), { throwIfNoEntry: false }), undefined);
    assert.equal((await runProgram("src/cli/cli.ts", ["accept", "--new-secret"], stored)).code, 0);
    assert.equal(await serveOnce(stored, token), 401);
  });
});

describe("a start on the schema of an older version", () => {
  // spec/deployment#rolling-upgrades
  it("logs the first and the last migration and the duration; later starts do not", async (t) => {
    const { settings, remove } = await createTestDeployment();
    t.after(remove);
    const database = await openDatabase(settings.DATABASE_URL, { connectionsMax: 1, timeoutMs: 60_000 });
    await database.write(async ({ queries }) => {
      await sql`drop table deployment_facts`.execute(queries);
      await sql`delete from schema_migrations where name = ${deploymentFacts.name}`.execute(queries);
    });
    await database.close();
    for (const expected of [1, 0]) {
      const server = await startProgram(settings);
      assert.equal(await server.end("SIGTERM"), 0);
      const lines = server
        .output()
        .split("\n")
        .filter((line) => line.includes("the schema was migrated"));
      assert.equal(lines.length, expected);
      const [line] = lines;
      if (line === undefined) continue;
      const { from, to, migrations, ms } = JSON.parse(line);
      assert.deepEqual([to, migrations, typeof ms], [deploymentFacts.name, 1, "number"]);
      assert.match(from, /^\d{4}-/);
    }
  });
});

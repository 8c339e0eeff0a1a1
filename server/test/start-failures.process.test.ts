// Runs on one engine: it fails before any statement.
import assert from "node:assert/strict";
import { once } from "node:events";
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { type AddressInfo, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import { createTestDeployment } from "./deployments.ts";
import { failureOf } from "./failing-starts.ts";
import { killRunningServers, startProgram } from "./running-server.ts";
import { startS3Server } from "./s3-server.ts";

const folder = mkdtempSync(join(tmpdir(), "rollcall-test-"));
after(() => {
  killRunningServers();
  rmSync(folder, { recursive: true, force: true });
});

async function takenPort() {
  const blocker = createServer().listen(0, "127.0.0.1");
  await once(blocker, "listening");
  const { port } = blocker.address() as AddressInfo; // a TCP listener has an address object
  return { port, free: () => blocker.close() };
}

describe("a start that cannot reach its database names DATABASE_URL, the target and the cause", () => {
  it("when nothing listens there", async () => {
    assert.equal(
      await failureOf({ DATABASE_URL: "postgres://user:pa55word@127.0.0.1:1/rollcall" }),
      "DATABASE_URL: cannot connect to 127.0.0.1:1 (ECONNREFUSED). Is PostgreSQL running there?",
    );
    assert.match(
      await failureOf({ DATABASE_URL: "postgres://localhost:1/x" }),
      /cannot connect to localhost:1 \(ECONN/,
    );
  });

  it("when the host is unknown", async () => {
    assert.match(
      await failureOf({ DATABASE_URL: "postgres://user:pa55word@no-such-host.invalid/rollcall" }),
      /^DATABASE_URL: the host name no-such-host\.invalid cannot be resolved \((ENOTFOUND|EAI_AGAIN)\)\./,
    );
  });

  it("when the server does not respond", async () => {
    const silent = createServer(() => {})
      .listen(0, "127.0.0.1")
      .unref();
    await once(silent, "listening");
    const { port } = silent.address() as AddressInfo; // a TCP listener has an address object
    const said = await failureOf({ DATABASE_URL: `postgres://user:pa55word@127.0.0.1:${port}/x` });
    silent.close();
    assert.match(said, new RegExp(`^DATABASE_URL: no answer from 127\\.0\\.0\\.1:${port} \\(CONN`));
  });
});

describe("a start that cannot use its folder names DATA_DIR, the path and the cause", () => {
  it("when no folder can be created, without retrying", async () => {
    const startedAt = Date.now();
    assert.match(
      await failureOf({ DATA_DIR: "/proc/nope", ROLLCALL_SECRET: "" }),
      /^DATA_DIR: cannot use \/proc\/nope: .+ \((ENOENT|EACCES|EPERM)\)\.$/,
    );
    assert.match(await failureOf({ DATA_DIR: "/proc/nope/deeper" }), /^DATA_DIR: cannot use \/proc\/nope: /);
    assert.match(await failureOf({ FILES_URL: "file:///proc/nope/files" }), /^FILES_URL: cannot use \/proc\/nope: /);
    assert.match(
      await failureOf({ DATABASE_URL: "file:///proc/nope/x.db" }),
      /^DATABASE_URL: cannot use \/proc\/nope: /,
    );
    assert.ok(Date.now() - startedAt < 60_000);
  });

  it("when it is a file", async () => {
    const file = join(folder, "file");
    writeFileSync(file, "");
    for (const place of [file, join(file, "below")])
      assert.match(await failureOf({ DATA_DIR: place }), /^DATA_DIR: cannot use \S+: .+ \((EEXIST|ENOTDIR)\)\.$/);
  });

  it("when this user may not write", { skip: process.getuid?.() === 0 && "root may write anywhere" }, async () => {
    const closed = join(folder, "closed");
    mkdirSync(closed, { mode: 0o500 });
    assert.match(await failureOf({ DATA_DIR: join(closed, "data") }), /^DATA_DIR: cannot use \S+: .+ \(EACCES\)\.$/);
  });
});

describe("a start that cannot listen", () => {
  it("names PORT or HOST, and creates nothing", async () => {
    const { port, free } = await takenPort();
    const dataDir = join(folder, "untouched");
    for (const workers of ["1", "2"]) {
      assert.equal(
        await failureOf({ DATA_DIR: dataDir, PORT: `${port}`, WORKERS: workers }),
        `PORT: 127.0.0.1:${port} is in use (EADDRINUSE). Stop the other program, or set another PORT.`,
      );
    }
    assert.equal(
      await failureOf({ DATA_DIR: dataDir, METRICS_PORT: `${port}` }),
      `METRICS_PORT: 127.0.0.1:${port} is in use (EADDRINUSE). Stop the other program, or set another METRICS_PORT.`,
    );
    free();
    assert.match(
      await failureOf({ DATA_DIR: dataDir, HOST: "192.0.2.1", PORT: "8099" }),
      /^HOST: 192\.0\.2\.1 is not an address of this machine \(EADDRNOTAVAIL\)/,
    );
    assert.match(
      await failureOf({ DATA_DIR: dataDir, HOST: "no-such-host.invalid", PORT: "8099" }),
      /^HOST: the name no-such-host\.invalid cannot be resolved \((ENOTFOUND|EAI_AGAIN)\)\./,
    );
    assert.ok(!existsSync(dataDir));
  });

  it("a second start on the same port does not affect the first server", async (t) => {
    const { settings, remove } = await createTestDeployment();
    t.after(remove);
    const first = await startProgram(settings);
    const other = join(folder, "second");
    const said = await failureOf({ DATA_DIR: other, PORT: `${first.port}` });
    assert.match(said, /^PORT: /);
    assert.ok(!existsSync(other));
    assert.equal(await first.end("SIGTERM"), 0);
  });
});

describe("a start with a bucket", () => {
  it("fails if the store refuses it, and serves without files while the store is unreachable", async (t) => {
    const { settings, remove } = await createTestDeployment();
    t.after(remove);
    const store = await startS3Server(join(folder, "s3"));
    t.after(() => store.close());
    const keys = { AWS_ACCESS_KEY_ID: store.keys.awsAccessKeyId, AWS_SECRET_ACCESS_KEY: store.keys.awsSecretAccessKey };
    const there = new URL(store.url).searchParams.get("endpoint") ?? "";
    const url = (bucket: string, endpoint = there) => `s3://${bucket}?endpoint=${endpoint}`;
    assert.equal(
      await failureOf({ ...settings, ...keys, FILES_URL: url("no-such-bucket") }),
      `FILES_URL: the bucket "no-such-bucket" at ${there} does not exist (NoSuchBucket).`,
    );
    const away = await startProgram({ ...settings, ...keys, FILES_URL: url("any-bucket", "http://127.0.0.1:1") });
    assert.match(away.output(), /FILES_URL: the bucket \\"any-bucket\\" at \S+ cannot be reached \(ECONNREFUSED\)/);
    assert.equal(await away.end("SIGTERM"), 0);
  });
});

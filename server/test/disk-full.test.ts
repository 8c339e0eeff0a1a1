import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import { appendFileSync, mkdirSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { type Answer, assertError, send } from "./harness.ts";
import { killRunningServers, startProgram } from "./running-server.ts";
import { dataPart, formHeaders, formOf, png } from "./uploads.ts";

/**
 * hostile.md 32: the program itself, its embedded database and its folder of files on a disk that is full. Such a disk is a
 * small one of its own (a tmpfs in a mount namespace, which Linux lets ordinary users make, but not every container does), or
 * the real one while the kernel lets the process write to no file (RLIMIT_FSIZE, on any Linux). Elsewhere this is skipped.
 */

interface SmallDisk {
  /** What runs a program whose data lie there. */
  readonly command: readonly string[];
  /** Where the data of that process lie, as seen from here. */
  dataOf(pid: number, dataDir: string): string;
  fill(pid: number, data: string): void;
  free(pid: number, data: string): void;
}

const mounted: SmallDisk = {
  command: [
    ...["unshare", "--user", "--map-root-user", "--mount", "sh", "-c"],
    ...['mount -t tmpfs -o size=16m,mode=700 none "$DATA_DIR" && exec "$@"', "sh"],
  ],
  dataOf: (pid, dataDir) => `/proc/${pid}/root${dataDir}`,
  fill(_pid, data) {
    for (const size of [65_536, 1]) {
      for (let isFull = false; !isFull; )
        isFull = isThrown(() => appendFileSync(join(data, "filler"), Buffer.alloc(size)));
    }
  },
  free: (_pid, data) => rmSync(join(data, "filler")),
};

const limited: SmallDisk = {
  command: [],
  dataOf: (_pid, dataDir) => dataDir,
  fill: (pid) => void execFileSync("prlimit", ["--pid", `${pid}`, "--fsize=0:"]),
  free: (pid) => void execFileSync("prlimit", ["--pid", `${pid}`, "--fsize=unlimited:"]),
};

function isThrown(work: () => void): boolean {
  try {
    work();
    return false;
  } catch {
    return true;
  }
}

const folder = mkdtempSync(join(tmpdir(), "rollcall-test-"));
after(() => {
  killRunningServers();
  rmSync(folder, { recursive: true, force: true });
});

/** Skips a test where there is no such disk: this is not Linux, or the programs do not do what they are to. */
function whereFound({ command }: SmallDisk): { readonly skip: string | false } {
  const [program = "", ...args] = command.length > 0 ? [...command, "true"] : ["prlimit", "--version"];
  const env = { ...process.env, DATA_DIR: folder };
  const isFound = process.platform === "linux" && spawnSync(program, args, { env }).status === 0;
  return { skip: isFound ? false : "this system has no such disk for us" };
}

const demoPattern = /appid {3}(app_\w+)\n {2}appkey {2}(\S+)\n/;

async function start(name: string, disk: SmallDisk) {
  const dataDir = join(folder, name);
  mkdirSync(dataDir);
  const { port, pid, output, end } = await startProgram({ DATA_DIR: dataDir }, disk.command);
  const deadline = Date.now() + 20_000;
  while (!demoPattern.test(output())) {
    assert.ok(Date.now() < deadline, "it shows no application");
    await sleep(10);
  }
  const [, appid, appkey] = demoPattern.exec(output()) ?? [];
  const data = disk.dataOf(pid, dataDir);
  const [fill, free] = [() => disk.fill(pid, data), () => disk.free(pid, data)];
  return { port, application: { appid, appkey }, data, output, fill, free, end: () => end("SIGTERM") };
}

function assertUnavailable(answer: Answer): void {
  assertError(answer, 503, "ServiceUnavailable", 1284, "The service is not available right now. Try again.");
  assert.equal(answer.headers["retry-after"], "1");
}

/** Names of all files of objects, and of what is on its way there. */
function filesIn(data: string): string[] {
  const entries = readdirSync(join(data, "files"), { recursive: true, withFileTypes: true });
  return entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
}

for (const [name, disk] of Object.entries({ "a small disk": mounted, "a disk that takes nothing": limited })) {
  describe(name, () => {
    it(
      "that is full refuses writes alone, in the envelope; with room again all is well",
      whereFound(disk),
      async () => {
        const server = await start(name, disk);
        const call = (method: string, path: string, token: string, body?: unknown) =>
          send(server.port, method, path, { token, body });
        const uploadTo = (path: string, token: string, bytes: Buffer) =>
          send(server.port, "POST", path, { token, body: formOf([dataPart(bytes)]), headers: formHeaders });
        const device = await send(server.port, "POST", "/devices", {
          body: { ...server.application, platform: "test" },
        });
        const deviceToken: string = device.body.result.accessToken;
        const account = { username: "user", password: "password" };
        const token: string = (await call("POST", "/users", deviceToken, account)).body.result.accessToken;

        const checkins = new Set<string>();
        const checkIn = async () => {
          const answer = await call("POST", "/checkins", token, { location: "1,2", comment: "x".repeat(2_000) });
          if (answer.status === 201) checkins.add(answer.body.result.id);
          return answer;
        };
        assert.equal((await checkIn()).status, 201);
        const bytes = Buffer.alloc(100_000, "bytes");
        const blob = (await uploadTo("/blobs", token, bytes)).body.result;
        const picture = (await uploadTo("/pictures", token, await png(100, 100))).body.result;
        const files = filesIn(server.data).length;
        const readsGoOn = async () => {
          assert.equal((await call("GET", "/users/me", token)).status, 200);
          assert.equal((await call("GET", `/blobs/${blob.id}/file`, token)).text, bytes.toString());
          assert.equal((await call("GET", `/pictures/${picture.id}/file?size=10`, token)).status, 200);
          assert.equal((await call("GET", `/pictures/${picture.id}/file`, token)).status, 200);
          assert.equal((await call("GET", "/_/health/ready", token)).status, 200);
          const { body } = await call("GET", "/checkins?pageSize=1000", token);
          const listed = body.result.pageResults.map(({ id }: { id: string }) => id);
          assert.deepEqual(listed.sort(), [...checkins].sort());
        };

        for (let round = 0; round < 2; round += 1) {
          server.fill();
          let isFull = false;
          while (!isFull) {
            const answers = await Promise.all(Array.from({ length: 20 }, checkIn)); // some may fit what is left of the log
            for (const answer of answers) if (answer.status !== 201) assertUnavailable(answer);
            isFull = answers.every(({ status }) => status === 503);
          }
          for (let n = 0; n < 3; n += 1) {
            assertUnavailable(await checkIn());
            assertUnavailable(await uploadTo("/blobs", token, bytes));
            assertUnavailable(await uploadTo("/blobs", token, Buffer.alloc(3_000_000)));
            assertUnavailable(await call("DELETE", `/blobs/${blob.id}`, token));
            assertUnavailable(await call("PATCH", "/users/me", token, { firstName: "Jane" }));
            assertUnavailable(await call("POST", "/users/login", deviceToken, account));
          }
          await readsGoOn();
          assert.equal(filesIn(server.data).length, files + round); // the scaled picture, kept when there was room again

          server.free();
          assert.equal((await checkIn()).status, 201);
          await readsGoOn();
          assert.equal(filesIn(server.data).length, files + 1);
        }

        const uploaded = await uploadTo("/blobs", token, bytes);
        assert.equal(uploaded.status, 201);
        assert.equal((await call("POST", "/users/login", deviceToken, account)).status, 200);
        assert.equal((await call("DELETE", `/blobs/${uploaded.body.result.id}`, token)).status, 200);
        assert.equal(await server.end(), 0);
        assert.doesNotMatch(server.output(), /"level":(50|60)/);
      },
    );
  });
}

describe("an upload that is larger than what is left", () => {
  it("is refused when the disk is full, and leaves as much as there was", whereFound(mounted), async () => {
    const server = await start("left", mounted);
    const device = await send(server.port, "POST", "/devices", { body: { ...server.application, platform: "test" } });
    const account = { username: "user", password: "password" };
    const { body } = await send(server.port, "POST", "/users", {
      token: device.body.result.accessToken,
      body: account,
    });
    const token: string = body.result.accessToken;
    const uploadOf = (size: number) =>
      send(server.port, "POST", "/blobs", {
        token,
        body: formOf([dataPart(Buffer.alloc(size))]),
        headers: formHeaders,
      });
    for (let n = 0; n < 3; n += 1) {
      assertUnavailable(await uploadOf(20_000_000));
      assert.deepEqual(filesIn(server.data), []);
    }
    assert.equal((await uploadOf(8_000_000)).status, 201);
    assertUnavailable(await uploadOf(9_000_000));
    assert.equal(filesIn(server.data).length, 1);
    assert.equal(await server.end(), 0);
  });
});

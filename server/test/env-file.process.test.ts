// Runs on one engine: it starts servers with the embedded database.
import assert from "node:assert/strict";
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import { sqliteUrl } from "./databases.ts";
import { killRunningServers, runProgram, startProgram } from "./running-server.ts";

const folder = mkdtempSync(join(tmpdir(), "rollcall-test-"));
after(() => {
  killRunningServers();
  rmSync(folder, { recursive: true, force: true });
});

/** Creates a working directory with this `.env`. */
function newFolder(name: string, file: string): string {
  const made = join(folder, name);
  mkdirSync(made);
  writeFileSync(join(made, ".env"), file);
  return made;
}

describe("the file .env in the working directory", () => {
  it("is overridden by the environment, even by an empty variable", async () => {
    const cwd = newFolder(
      "precedence",
      "\ufeff# a comment\nDATA_DIR=./from-file\nREGION='eu'\nLOG_LEVEL=\"loud\" # wrong\n",
    );
    const { stderr } = await runProgram("src/cli/cli.ts", ["apps", "list"], {}, cwd);
    assert.match(stderr, /LOG_LEVEL must be one of/);
    const { code } = await runProgram("src/cli/cli.ts", ["apps", "list"], { LOG_LEVEL: "info" }, cwd);
    assert.equal(code, 0);
    assert.ok(existsSync(join(cwd, "from-file/rollcall.db")));
    const hiding = await runProgram("src/cli/cli.ts", ["apps", "list"], { LOG_LEVEL: "", DATA_DIR: "elsewhere" }, cwd);
    assert.equal(hiding.code, 0, hiding.stderr);
    assert.ok(existsSync(join(cwd, "elsewhere/rollcall.db")));
  });

  it("is read once by serve, and its workers get the same values", async () => {
    const cwd = newFolder("serve", "DATA_DIR=data\nREGION=main\nLOG_LEVEL=info\n");
    const server = await startProgram({ WORKERS: "2" }, ["sh", "-c", 'cd "$0" && exec "$@"', cwd]);
    assert.ok(existsSync(join(cwd, "data/rollcall.db")));
    assert.equal(await server.end("SIGTERM"), 0);
  });

  it("may contain unrelated names, but no misspelt setting", async () => {
    const cwd = newFolder("strict", "POSTGRES_PASSWORD=x\nDATA_DIR=data\n");
    assert.equal((await runProgram("src/cli/cli.ts", ["apps", "list"], {}, cwd)).code, 0);
    writeFileSync(join(cwd, ".env"), "POSTGRES_PASSWORD=x\nPORTS=80\nDATA_DIR=data\n");
    const { code, stderr } = await runProgram("src/main.ts", [], {}, cwd);
    assert.equal(code, 1);
    assert.equal(stderr, "Wrong settings:\n  PORTS (in .env) is not a setting. Did you mean PORT?\n");
  });

  it("must not contain a line that names a setting without a value", async () => {
    const cwd = newFolder("colon", "DATA_DIR=data\n");
    for (const line of ["PORT: 18692", "export PORT 18692", "PORT"]) {
      writeFileSync(join(cwd, ".env"), `DATA_DIR=data\n${line}\n`);
      const { code, stderr } = await runProgram("src/main.ts", [], {}, cwd);
      assert.deepEqual([code, stderr], [1, `${join(cwd, ".env")}: line 2 sets nothing. Write PORT=value.\n`], line);
    }
    for (const line of ["PORT = 18692", "# PORT: 18692", 'TEXT="a\nPORTAL: 1"', "PORTAL: 1"]) {
      writeFileSync(join(cwd, ".env"), `DATA_DIR=data\n${line}\n`);
      assert.equal((await runProgram("src/cli/cli.ts", ["apps", "list"], {}, cwd)).code, 0, line);
    }
  });

  it("may be a folder, as Python's virtual environments are", async () => {
    const cwd = join(folder, "venv");
    mkdirSync(join(cwd, ".env"), { recursive: true });
    assert.equal((await runProgram("src/cli/cli.ts", ["apps", "list"], {}, cwd)).code, 0);
  });
});

describe("a misspelt setting", () => {
  it("stops serve and the commands before they create anything, and suggests the right name", async () => {
    const dataDir = join(folder, "misspelt");
    for (const [program, args] of [
      ["src/main.ts", []],
      ["src/cli/cli.ts", ["apps", "list"]],
    ] as const) {
      const settings = { DATA_DIR: dataDir, DATABASE_UR: sqliteUrl(folder), PORT: "0" };
      const { code, stdout, stderr } = await runProgram(program, args, settings);
      assert.deepEqual([code, stdout], [1, ""]);
      assert.match(stderr, /^ {2}DATABASE_UR is not a setting\. Did you mean DATABASE_URL\?$/m);
      assert.ok(!existsSync(dataDir));
    }
  });
});

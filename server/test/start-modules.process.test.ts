// Runs on one engine: no database takes part.
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { describe, it } from "node:test";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { programEnvironment } from "./running-server.ts";

const program = fileURLToPath(import.meta.resolve("../src/app/serve.ts"));

describe("the modules that a start loads", () => {
  it("exclude undici and TLS, which a server without outgoing calls never uses", async () => {
    const script = `await import(${JSON.stringify(program)}); console.log(process.moduleLoadList.join("\\n"));`;
    const { stdout } = await promisify(execFile)(process.execPath, ["--input-type=module", "--eval", script], {
      env: programEnvironment,
    });
    const builtIns = stdout.split("\n");
    assert.ok(builtIns.includes("NativeModule http"));
    assert.ok(!builtIns.some((name) => name.includes("undici")), "import node:http from lib/builtins.ts");
    assert.ok(!builtIns.includes("NativeModule tls"), "load node:https and node:tls at their first use");
  });
});

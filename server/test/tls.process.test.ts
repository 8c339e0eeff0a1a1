// Runs on one engine: it starts servers with the embedded database.
import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { copyFileSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { connect } from "node:tls";
import { rollcall, serverEnvironment } from "./running-server.ts";

/** The server over TLS: `TLS_CERT_FILE=… TLS_KEY_FILE=… rollcall serve`. */

const certificates = join(import.meta.dirname, "certificates");
const authorities = ["a", "b"].map((name) => readFileSync(join(certificates, `test-only-${name}.cert.pem`)));

let folder: string;
let child: ChildProcess;
let stdout = "";
before(() => {
  folder = mkdtempSync(join(tmpdir(), "rollcall-test-"));
  install("a");
  const settings = { TLS_CERT_FILE: join(folder, "cert.pem"), TLS_KEY_FILE: join(folder, "key.pem") };
  const env = { ...serverEnvironment, PORT: "0", DATA_DIR: join(folder, "data"), ...settings };
  const running = spawn(process.execPath, [rollcall, "serve"], {
    env,
    stdio: ["ignore", "pipe", "inherit"],
  });
  running.stdout.setEncoding("utf8").on("data", (text) => {
    stdout += text;
  });
  child = running;
});
after(() => {
  child.kill("SIGKILL");
  rmSync(folder, { recursive: true, force: true });
});

function install(name: "a" | "b"): void {
  for (const kind of ["cert", "key"]) {
    copyFileSync(join(certificates, `test-only-${name}.${kind}.pem`), join(folder, `${kind}.pem`));
  }
}

/** Waits until the program has printed a match. */
async function read(pattern: RegExp): Promise<RegExpExecArray> {
  const deadline = Date.now() + 20_000;
  for (;;) {
    const found = pattern.exec(stdout);
    if (found !== null) return found;
    assert.ok(Date.now() < deadline && child.exitCode === null, `the program does not print ${pattern}:\n${stdout}`);
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

describe("the server over TLS", () => {
  it("serves https, loads a new certificate at SIGHUP without dropping a connection, and shuts down in time at SIGTERM", async () => {
    const port = Number((await read(/"url":"https:\/\/127\.0\.0\.1:(\d+)"/))[1]);
    await read(/curl -s https:\/\/127\.0\.0\.1:\d+\/devices/);

    const options = { port, host: "127.0.0.1", ca: authorities };
    const kept = connect(options);
    await once(kept, "secureConnect");

    install("b");
    child.kill("SIGHUP");
    await read(/"msg":"new TLS certificate"/);
    const fresh = connect(options);
    await once(fresh, "secureConnect");
    assert.equal(fresh.getPeerCertificate().subject.CN, "test b");
    assert.equal(kept.getPeerCertificate().subject.CN, "test a");

    kept.write("GET /service/ping HTTP/1.1\r\nHost: a\r\n\r\n");
    const [answer] = await once(kept, "data");
    assert.match(`${answer}`, /"result":"Pong"/);

    const [closed, exited] = [once(kept.resume(), "close"), once(child, "exit")];
    child.kill("SIGTERM");
    assert.deepEqual(await exited, [0, null]);
    await closed;
  });
});

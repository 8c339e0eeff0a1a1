// Runs on one engine: it tests HTTP, before any statement.
import assert from "node:assert/strict";
import { X509Certificate } from "node:crypto";
import { once } from "node:events";
import { copyFileSync, mkdtempSync, readFileSync, rmSync, symlinkSync, unlinkSync, writeFileSync } from "node:fs";
import { Agent, request } from "node:https";
import { connect as connectBare } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { setTimeout as delay } from "node:timers/promises";
import { type ConnectionOptions, connect, type TLSSocket } from "node:tls";
import { assertError, assertResult, openRaw, startTestApp, type TestApp } from "../../test/harness.ts";
import { runProgram } from "../../test/running-server.ts";
import { ConfigError } from "../config/config.ts";
import { readCertificate } from "./certificate.ts";

/** Real TLS connections, with the certificates of test/certificates. */

const certificates = join(import.meta.dirname, "../../test/certificates");
const authorities = ["a", "b"].map((name) => readFileSync(join(certificates, `test-only-${name}.cert.pem`)));

let folder: string;
let certFile: string;
let keyFile: string;
let test: TestApp;
before(async () => {
  folder = mkdtempSync(join(tmpdir(), "rollcall-test-"));
  [certFile, keyFile] = [join(folder, "cert.pem"), join(folder, "key.pem")];
  install("a");
  test = await startTestApp({ TLS_CERT_FILE: certFile, TLS_KEY_FILE: keyFile, REQUEST_TIMEOUT_MS: "1000" });
});
after(async () => {
  await test.close();
  rmSync(folder, { recursive: true, force: true });
});

function install(name: "a" | "b"): void {
  copyFileSync(join(certificates, `test-only-${name}.cert.pem`), certFile);
  copyFileSync(join(certificates, `test-only-${name}.key.pem`), keyFile);
}

/** Makes a call over https, on a keep-alive connection with `agent`. */
async function call(
  path: string,
  { agent, method = "GET", body }: { agent?: Agent; method?: string; body?: unknown } = {},
) {
  const address = { port: test.port, host: "127.0.0.1", method, path, ca: authorities, agent: agent ?? false };
  const outgoing = request({ ...address, headers: { "content-type": "application/json" } });
  outgoing.end(body === undefined ? undefined : JSON.stringify(body));
  const [incoming] = await once(outgoing, "response");
  const text = Buffer.concat(await Array.fromAsync(incoming as AsyncIterable<Buffer>)).toString();
  const isJson = incoming.headers["content-type"] === "application/json";
  return { status: incoming.statusCode, headers: incoming.headers, text, body: isJson ? JSON.parse(text) : undefined };
}

/** Completes a TLS handshake; returns the name in the certificate and the TLS version. */
async function shakeHands(options: ConnectionOptions = {}): Promise<{ name: string; version: string | null }> {
  const socket: TLSSocket = connect({ port: test.port, host: "127.0.0.1", ca: authorities, ...options });
  await once(socket, "secureConnect");
  const shaken = { name: `${socket.getPeerCertificate().subject.CN}`, version: socket.getProtocol() };
  socket.destroy();
  return shaken;
}

const noticed = () => test.logLines.filter(({ msg }) => `${msg}`.includes("TLS certificate"));

// spec/transport#tls
describe("https", () => {
  it("serves calls, health and the pages, and logs the address of the client", async () => {
    assertResult(await call("/service/ping"), 200, "Pong");
    assertResult(await call("/_/health/ready"), 200, "ready");
    const device = await call("/devices", { method: "POST", body: { ...test.application, platform: "test" } });
    assert.equal(device.status, 201);
    const page = await call("/_/docs");
    assert.match(page.text, /^<!doctype html>/);
    assert.ok(test.logLines.some(({ path, address }) => path === "/devices" && address === "127.0.0.1"));
  });

  it("is the scheme of the URL that the server reports", () => {
    assert.equal(test.app.transport.url(), `https://127.0.0.1:${test.port}`);
  });

  it("sends Strict-Transport-Security with every response, including errors", async () => {
    for (const path of ["/service/ping", "/nowhere", "/users/me", "/%zz", "/_/docs"]) {
      assert.equal((await call(path)).headers["strict-transport-security"], "max-age=31536000", path);
    }
  });

  it("accepts TLS 1.2 and 1.3, and no older version", async () => {
    assert.equal((await shakeHands({ maxVersion: "TLSv1.2" })).version, "TLSv1.2");
    assert.equal((await shakeHands()).version, "TLSv1.3");
    for (const version of ["TLSv1", "TLSv1.1"] as const) {
      const old = { minVersion: version, maxVersion: version, ciphers: "ALL:@SECLEVEL=0" };
      await assert.rejects(shakeHands(old), { code: "ERR_SSL_TLSV1_ALERT_PROTOCOL_VERSION" }, version);
    }
  });

  it("refuses HTTP without TLS on its port in the envelope", async () => {
    for (const head of [
      "GET /service/ping HTTP/1.1\r\nHost: a\r\n\r\n",
      "POST / HTTP/1.1\r\nContent-Length: 9\r\n\r\n{",
    ]) {
      const connection = openRaw(test.port);
      connection.write(head);
      const answer = await connection.receive();
      assert.ok(answer);
      assertError(answer, 400, "ParameterIncorrectFormat", 515, "This port accepts HTTPS only.");
      assert.equal(await connection.receive(), undefined);
    }
  });

  it("disconnects input that is neither TLS nor HTTP", async () => {
    for (const bytes of ["hello\r\n\r\n", Buffer.alloc(100_000, 0xff), "\u0016\u0003\u0001\u0000\u0001a"]) {
      const connection = openRaw(test.port);
      connection.write(bytes);
      assert.equal(await connection.receive(), undefined);
    }
    assertResult(await call("/service/ping"), 200, "Pong");
  });

  it("aborts an incomplete handshake, without delaying other clients (hostile.md 17)", async () => {
    const silent = Array.from({ length: 50 }, () => openRaw(test.port));
    const begun = openRaw(test.port);
    begun.write(Buffer.from("16030100c8010000c40303", "hex")); // the beginning of a handshake
    assertResult(await call("/service/ping"), 200, "Pong");
    for (const connection of [begun, ...silent]) assert.equal(await connection.receive(), undefined);
  });

  it("accepts only cipher suites with authenticated encryption", async () => {
    const [version, own] = [{ minVersion: "TLSv1.2", maxVersion: "TLSv1.2" } as const, "ECDHE-ECDSA"];
    for (const ciphers of [`${own}-AES128-GCM-SHA256`, `${own}-AES256-GCM-SHA384`, `${own}-CHACHA20-POLY1305`]) {
      assert.equal((await shakeHands({ ...version, ciphers })).version, "TLSv1.2");
    }
    for (const ciphers of [`${own}-AES128-SHA`, `${own}-AES256-SHA384`, "AES128-GCM-SHA256", "AES256-SHA"]) {
      await assert.rejects(shakeHands({ ...version, ciphers }), ciphers);
    }
    assert.equal((await shakeHands({ minVersion: "TLSv1.3" })).version, "TLSv1.3");
  });

  // spec/transport#pipelining
  it("answers all pipelined requests of a client that half-closes its connection after them", async () => {
    const socket = connect({ port: test.port, host: "127.0.0.1", ca: authorities });
    socket.setEncoding("latin1").end("GET /service/ping HTTP/1.1\r\nHost: a\r\n\r\n".repeat(1_500));
    const text = (await Array.fromAsync(socket as AsyncIterable<string>)).join("");
    assert.equal(text.match(/HTTP\/1\.1 200 /g)?.length, 1_500);
  });

  it("refuses a broken request in the envelope over TLS too", async () => {
    const socket = connect({ port: test.port, host: "127.0.0.1", ca: authorities });
    socket.write("NONSENSE\r\n\r\n");
    const text = Buffer.concat(await Array.fromAsync(socket as AsyncIterable<Buffer>)).toString();
    assert.match(text, /^HTTP\/1\.1 404 .*"error":"OperationNotFound"/s);
  });
});

describe("a new certificate", () => {
  it("is served to new connections, while existing ones continue", async () => {
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    const sockets = new Set();
    agent.on("free", (socket) => sockets.add(socket));
    assertResult(await call("/service/ping", { agent }), 200, "Pong");
    assert.equal((await shakeHands()).name, "test a");

    install("b");
    await test.app.transport.reloadCertificate();
    assert.equal((await shakeHands()).name, "test b");
    assertResult(await call("/service/ping", { agent }), 200, "Pong");
    assert.equal(sockets.size, 1, "the connection of before");
    const ends = new X509Certificate(readFileSync(certFile)).validTo;
    assert.equal(test.app.transport.certificateEnds(), Date.parse(ends));
    assert.ok(noticed().some(({ msg, expires }) => msg === "new TLS certificate" && `${expires}`.includes("2126")));
    agent.destroy();
  });

  it("is noticed automatically within seconds, even behind a symbolic link", async () => {
    for (const [file, kind] of [
      [certFile, "cert"],
      [keyFile, "key"],
    ] as const) {
      unlinkSync(file);
      symlinkSync(join(certificates, `test-only-a.${kind}.pem`), file);
    }
    const deadline = Date.now() + 60_000;
    while ((await shakeHands()).name !== "test a") {
      assert.ok(Date.now() < deadline, "It is not noticed");
      await delay(100);
    }
    for (const file of [certFile, keyFile]) unlinkSync(file); // unlink the links, not the files of the repository
    install("a");
  });

  it("is logged once if it is invalid, and the old one stays in use until a valid one is installed", async () => {
    const broken: Readonly<Record<string, () => void>> = {
      "TLS_KEY_FILE must hold the key of the certificate in TLS_CERT_FILE": () =>
        copyFileSync(join(certificates, "test-only-b.cert.pem"), certFile),
      "TLS_CERT_FILE must hold a certificate": () => writeFileSync(certFile, ""),
      "TLS_KEY_FILE must hold a private key": () => {
        install("b");
        writeFileSync(keyFile, "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n");
      },
      "TLS_CERT_FILE must name a file that can be read (ENOENT)": () => unlinkSync(certFile),
    };
    for (const [problem, breakIt] of Object.entries(broken)) {
      const before = noticed().length;
      breakIt();
      for (let n = 0; n < 3; n += 1) await test.app.transport.reloadCertificate();
      const lines = noticed().slice(before);
      assert.equal(lines.length, 1, problem);
      assert.ok(`${lines[0]?.["problem"]}`.startsWith(problem), `${lines[0]?.["problem"]}`);
      assert.equal((await shakeHands()).name, "test a");
    }
    install("b");
    await test.app.transport.reloadCertificate();
    assert.equal((await shakeHands()).name, "test b");
  });
});

describe("the start with a certificate", () => {
  it("fails with the setting's name if the files are not a certificate and its key, without revealing their contents", async () => {
    const key = readFileSync(join(certificates, "test-only-a.key.pem"), "utf8");
    const [good, other] = [join(certificates, "test-only-a.cert.pem"), join(certificates, "test-only-b.key.pem")];
    const mangled = join(folder, "mangled.pem");
    writeFileSync(mangled, key.replaceAll("a", "b"));
    const starts: readonly (readonly [cert: string, key: string, problem: RegExp])[] = [
      [join(folder, "none.pem"), other, /^TLS_CERT_FILE must name a file that can be read \(ENOENT\)$/],
      [good, key, /^TLS_KEY_FILE must name a file that can be read \(E\w+\)$/],
      [folder, other, /^TLS_CERT_FILE must name a file that can be read \(EISDIR\)$/],
      [good, good, /^TLS_KEY_FILE must hold a private key without a password, as PEM \(ERR_\w+\)$/],
      [good, mangled, /^TLS_KEY_FILE must hold a private key without a password, as PEM \(ERR_\w+\)$/],
      [other, other, /^TLS_CERT_FILE must hold a certificate, .* as PEM \(ERR_\w+\)$/],
      [good, other, /^TLS_KEY_FILE must hold the key of the certificate in TLS_CERT_FILE$/],
    ];
    for (const [certFile, keyFile, problem] of starts) {
      await assert.rejects(readCertificate({ certFile, keyFile }), (error) => {
        assert.ok(error instanceof ConfigError);
        assert.equal(error.problems.length, 1);
        assert.match(error.problems[0] ?? "", problem);
        return true;
      });
    }
    const settings = { DATA_DIR: join(folder, "data"), PORT: "0", TLS_CERT_FILE: good, TLS_KEY_FILE: other };
    const { code, stderr } = await runProgram("src/main.ts", [], settings);
    assert.equal(code, 1);
    assert.equal(stderr, "Wrong settings:\n  TLS_KEY_FILE must hold the key of the certificate in TLS_CERT_FILE\n");
  });
});

describe("shutting down", () => {
  it("does not wait for connections that are still in their handshake", async () => {
    const app = await startTestApp({ TLS_CERT_FILE: certFile, TLS_KEY_FILE: keyFile });
    const socket = connectBare(app.port, "127.0.0.1");
    await once(socket, "connect");
    const startedAt = performance.now();
    await app.app.close(20_000);
    assert.ok(performance.now() - startedAt < 10_000);
    socket.destroy();
    await app.close();
  });
});

// Runs on one engine: it tests how an app in Node.js connects.
import assert from "node:assert/strict";
import { execFile, execFileSync } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createServer, type RequestListener } from "node:http";
import { createServer as createSecureServer } from "node:https";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import path from "node:path";
import { after, before, describe, it } from "node:test";
import { promisify } from "node:util";

const root = path.resolve(import.meta.dirname, "../..");
const certificates = path.join(root, "server/test/certificates");
const readCertificate = (kind: string) => readFileSync(path.join(certificates, `test-only-a.${kind}.pem`));

const answer: RequestListener = (_, response) => {
  response.setHeader("Content-Type", "application/json");
  response.end(JSON.stringify({ status: 200, result: { id: "chk_1" }, request_id: "req_1", success: true }));
};

let folder: string;
const plain = createServer(answer);
const secure = createSecureServer({ key: readCertificate("key"), cert: readCertificate("cert") }, answer);
before(async () => {
  folder = mkdtempSync(path.join(tmpdir(), "rollcall-network-"));
  execFileSync(process.execPath, [path.join(root, "scripts/compile-sdk.ts"), path.join(folder, "dist")]);
  for (const server of [plain, secure]) await once(server.listen(0, "127.0.0.1"), "listening");
});
after(() => {
  for (const server of [plain, secure]) server.close();
  rmSync(folder, { recursive: true, force: true });
});

/** Setup code of an app before its call. */
interface App {
  /** Statements before the client is imported. */
  readonly first?: string;
  /** Statements after that. */
  readonly afterwards?: string;
  /** Further members of the options. */
  readonly options?: string;
  readonly callOptions?: string;
  readonly isSecure?: boolean;
  readonly env?: Readonly<Record<string, string>>;
}

/** Runs an app that makes a call with the client for Node.js. Returns the way of its request, as the app sees it. */
async function wayOf({ first = "", afterwards = "", options = "", callOptions = "", isSecure = false, env }: App) {
  const { port } = (isSecure ? secure : plain).address() as AddressInfo;
  const url = `${isSecure ? "https" : "http"}://127.0.0.1:${port}`;
  const program = `
    import { subscribe } from "node:diagnostics_channel";
    const ways = [];
    subscribe("http.client.request.start", () => ways.push("node:http"));
    subscribe("undici:request:create", () => ways.push("fetch"));
    const nativeFetch = fetch;
    const double = (...request) => {
      ways.push("double");
      return nativeFetch(...request);
    };
    ${first}
    const { connect } = await import(${JSON.stringify(path.join(folder, "dist/bundle/index.js"))});
    const { getCheckin } = await import(${JSON.stringify(path.join(folder, "dist/bundle/calls.js"))});
    ${afterwards}
    const client = connect({ url: "${url}", token: "main.token", retry: false, ${options} });
    const { id } = await client.send(getCheckin("chk_1"), { ${callOptions} });
    console.log([id, ...ways].join(" "));`;
  const args = ["--input-type=module", "--eval", program];
  const { stdout } = await promisify(execFile)(process.execPath, args, { env: { PATH: process.env["PATH"], ...env } });
  assert.match(stdout, /^chk_1 /);
  return stdout.slice("chk_1 ".length).trim();
}

/** The dispatcher that `fetch` of Node.js has made by its first request. */
const defaultDispatcher = `
  await fetch("http://127.0.0.1:1/").catch(() => {});
  ways.length = 0;
  const keys = [2, 1].map((version) => Symbol.for("undici.globalDispatcher." + version));
  const key = keys.find((key) => globalThis[key]);
  const dispatcher = globalThis[key];`;

describe("the client in Node.js", () => {
  it("sends JSON over node:http, and lets the process exit when its calls are done", async () => {
    assert.equal(await wayOf({}), "node:http");
    assert.equal(await wayOf({ first: defaultDispatcher }), "node:http");
  });

  it("trusts the authorities of NODE_EXTRA_CA_CERTS, and no others", async () => {
    const NODE_EXTRA_CA_CERTS = path.join(certificates, "test-only-a.cert.pem");
    assert.equal(await wayOf({ isSecure: true, env: { NODE_EXTRA_CA_CERTS } }), "node:http");
    await assert.rejects(wayOf({ isSecure: true }), /ConnectionError[\s\S]*DEPTH_ZERO_SELF_SIGNED_CERT/);
  });

  it("uses the app's replacement of fetch", async () => {
    assert.equal(await wayOf({ options: "fetch: double" }), "double fetch");
    assert.equal(await wayOf({ options: "fetch" }), "fetch");
    assert.equal(await wayOf({ first: "globalThis.fetch = double;" }), "double fetch");
    assert.equal(await wayOf({ afterwards: "globalThis.fetch = double;" }), "double fetch");
    assert.equal(await wayOf({ first: "globalThis.fetch = fetch.bind(globalThis);" }), "fetch");
  });

  it("uses the app's dispatcher of fetch", async () => {
    const ownClass = "class Own extends dispatcher.constructor {}; globalThis[key] = new Own();";
    const ownOptions = "globalThis[key] = new dispatcher.constructor({ connect: { timeout: 5_000 } });";
    const ownInterceptor =
      "globalThis[key] = dispatcher.compose((dispatch) => (options, handler) => dispatch(options, handler));";
    for (const own of [ownClass, ownOptions, ownInterceptor])
      assert.equal(await wayOf({ afterwards: `${defaultDispatcher} ${own}` }), "fetch", own);
  });

  it("goes through the proxy that the environment names", async () => {
    let isAsked = false;
    const proxy = createServer((request, response) => {
      isAsked = true;
      answer(request, response);
    });
    await once(proxy.listen(0, "127.0.0.1"), "listening");
    const { port } = proxy.address() as AddressInfo;
    assert.equal(await wayOf({ env: { NODE_USE_ENV_PROXY: "1", HTTP_PROXY: `http://127.0.0.1:${port}` } }), "fetch");
    assert.ok(isAsked);
    proxy.close();
  });

  it("sends requests with custom headers through fetch", async () => {
    assert.equal(await wayOf({ callOptions: 'headers: { "X-Trace": "1" }' }), "fetch");
  });
});

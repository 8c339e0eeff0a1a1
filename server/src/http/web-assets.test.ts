// Runs on one engine: no database takes part.
import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { request } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { buffer } from "node:stream/consumers";
import { after, before, describe, it } from "node:test";
import { brotliCompressSync, brotliDecompressSync, gunzipSync } from "node:zlib";
import { assertError, send, startTestApp, type TestApp } from "../../test/harness.ts";

const folder = mkdtempSync(join(tmpdir(), "rollcall-test-"));
const script = `export const text = "${"a script ".repeat(500)}";\n`;
const scriptName = "assets/index-CF2iYHT-.js";
const html = (title: string) => `<!doctype html><html data-transport="__TRANSPORT__"><title>${title}</title>
<script type="module" src="./${scriptName}" integrity="sha384-x" nonce="__CSP_NONCE__"></script>
<style nonce="__CSP_NONCE__"></style>`;

/** Writes the files of a build. */
function build(title: string): void {
  mkdirSync(join(folder, "assets"), { recursive: true });
  writeFileSync(join(folder, "index.html"), html(title));
  writeFileSync(join(folder, `${scriptName}.br`), brotliCompressSync(script));
  writeFileSync(join(folder, "assets/style-B5RoLeKn.css.br"), brotliCompressSync("p {}"));
  writeFileSync(join(folder, "assets/icon-c2E49a8-.svg.br"), brotliCompressSync("<svg/>"));
  writeFileSync(join(folder, "manifest.json.br"), brotliCompressSync("{}"));
  writeFileSync(join(folder, ".built-from"), "digest");
  writeFileSync(join(folder, ".hidden.br"), brotliCompressSync("hidden"));
}

let test: TestApp;
before(async () => {
  test = await startTestApp({}, { consoleFolder: folder });
});
after(async () => {
  await test.close();
  rmSync(folder, { recursive: true });
});

interface Fetched {
  readonly status: number | undefined;
  readonly headers: Readonly<Record<string, unknown>>;
  readonly bytes: Buffer;
}

/** Reads the bytes as they are sent. */
async function fetchBytes(path: string, headers: Record<string, string> = {}, method = "GET"): Promise<Fetched> {
  const { promise, resolve, reject } = Promise.withResolvers<Fetched>();
  const sent = request({ port: test.port, host: "127.0.0.1", path, headers, method, agent: false }, (answer) => {
    const { statusCode: status, headers: received } = answer;
    buffer(answer).then((bytes) => resolve({ status, headers: received, bytes }), reject);
  });
  sent.on("error", reject).end();
  return promise;
}

const policyOf = ({ headers }: Pick<Fetched, "headers">) => `${headers["content-security-policy"]}`;
const nonceOf = (answer: Pick<Fetched, "headers">) => /'nonce-([\w+/=]+)'/.exec(policyOf(answer))?.[1] ?? "";

const paths = ["/_/console/", "/_/console", `/_/console/${scriptName}`, "/_/console/nothing"];

/** The headers of every answer, whatever its status. */
function assertFenced({ headers }: Pick<Fetched, "headers">, what: string): void {
  assert.equal(headers["x-frame-options"], "DENY", what);
  assert.equal(headers["x-content-type-options"], "nosniff", what);
  assert.equal(headers["cross-origin-opener-policy"], "same-origin", what);
  assert.equal(headers["cross-origin-resource-policy"], "same-origin", what);
  assert.equal(headers["referrer-policy"], "no-referrer", what);
  assert.match(`${headers["permissions-policy"]}`, /camera=\(\), .*geolocation=\(\), /, what);
  assert.match(policyOf({ headers }), /^default-src 'none'.*frame-ancestors 'none'.*base-uri 'none'/, what);
  assert.doesNotMatch(policyOf({ headers }), /unsafe|https?:|\*|script-src[^;]*'self'/, what);
  assert.equal(headers["access-control-allow-origin"], undefined, what);
}

// spec/console#pages
describe("/_/console/", () => {
  it("answers 503 without a build, with a page that names the command and reloads itself each second", async () => {
    for (const name of ["GET", "HEAD"]) {
      const answer = await fetchBytes("/_/console/", {}, name);
      assert.deepEqual([answer.status, answer.headers["retry-after"]], [503, "1"]);
      assert.equal(answer.headers["cache-control"], "no-store");
      assertFenced(answer, name);
      if (name === "HEAD") continue;
      const text = answer.bytes.toString();
      assert.match(text, /<meta http-equiv="refresh" content="1">/);
      assert.match(text, /npm run build:console/);
      assert.ok(text.includes(`<style nonce="${nonceOf(answer)}">`));
    }
    assert.equal((await fetchBytes(`/_/console/${scriptName}`)).status, 404);
  });

  it("sends the page with a new nonce each time, in the policy and in the elements", async () => {
    build("First");
    const nonces = new Set<string>();
    for (let n = 0; n < 3; n += 1) {
      const answer = await fetchBytes("/_/console/", { "accept-encoding": "br, gzip" });
      const nonce = nonceOf(answer);
      assert.deepEqual([answer.status, answer.headers["content-type"]], [200, "text/html; charset=utf-8"]);
      assert.deepEqual([answer.headers["cache-control"], answer.headers["etag"]], ["no-store", undefined]);
      assert.equal(
        answer.bytes.toString(),
        html("First").replaceAll("__CSP_NONCE__", nonce).replace("__TRANSPORT__", "clear"),
      );
      assert.equal(Buffer.from(nonce, "base64").length, 16);
      nonces.add(nonce);
    }
    assert.equal(nonces.size, 3);
  });

  it("marks in the page whether it was requested over https, which only a trusted proxy can report", async () => {
    build("Behind a proxy");
    const headers = { "x-forwarded-proto": "https" };
    const said = async ({ port }: Pick<TestApp, "port">) => {
      const answer = await fetch(`http://127.0.0.1:${port}/_/console/`, { headers });
      return /data-transport="(\w+)"/.exec(await answer.text())?.[1];
    };
    assert.equal(await said(test), "clear");
    const trusting = await startTestApp({ TRUST_PROXY: "loopback" }, { consoleFolder: folder });
    assert.equal(await said(trusting), "tls");
    await trusting.close();
  });

  it("sends the page of a new build without a restart", async () => {
    build("Second one");
    const { bytes } = await fetchBytes("/_/console/");
    assert.match(bytes.toString(), /<title>Second one</);
  });

  it("answers HEAD like GET, and redirects the path without a slash to the page", async () => {
    const head = await fetchBytes("/_/console/", {}, "HEAD");
    assert.deepEqual([head.status, head.bytes.length], [200, 0]);
    for (const method of ["GET", "HEAD"]) {
      const moved = await fetchBytes("/_/console", {}, method);
      assert.deepEqual([moved.status, moved.headers["location"]], [308, "console/"]);
    }
    for (const base of ["http://host/_/console", "https://host/backend/_/console"])
      assert.equal(new URL("console/", base).href, `${base}/`);
  });

  it("is linked from /_/ and from /_/docs, and absent from the OpenAPI documents", async () => {
    assert.equal((await test.call("GET /_/")).body.result.console, "/_/console/");
    for (const [page, address] of Object.entries({ "/_/docs": "./console/", "/_/docs/operators": "../console/" })) {
      const { text } = await test.call(`GET ${page}`);
      const [, href = ""]: (string | undefined)[] = /<a href="([^"]*)">Console</.exec(text) ?? [];
      assert.equal(new URL(href, `http://host${page}`).pathname, new URL(address, `http://host${page}`).pathname);
    }
    for (const document of ["/_/openapi.json", "/_/openapi.operators.json"]) {
      assert.ok(!(await test.call(`GET ${document}`)).text.includes("/_/console"), document);
    }
  });

  it("/_/docs loads its files below any path, with and without a trailing slash", async () => {
    for (const page of ["/_/docs", "/_/docs/", "/_/docs/operators", "/_/docs/operators/"]) {
      const { text } = await test.call(`GET ${page}`);
      const addresses = [...text.matchAll(/(?:src|href)="([^"#]*)"/g)].map(([, address = ""]) => address);
      assert.ok(addresses.length > 6);
      for (const address of addresses.filter((each) => each !== "data:,")) {
        const { pathname } = new URL(address, `http://host/backend${page}`);
        assert.match(pathname, /^\/backend\//, `${address} in ${page}`);
        assert.equal((await fetchBytes(pathname.slice("/backend".length))).status, 200, `${address} in ${page}`);
      }
    }
  });
});

// spec/console#files-of-the-console
describe("files of the console", () => {
  it("are sent in an encoding that the client accepts, and cached for a year", async () => {
    const decoders = { br: brotliDecompressSync, gzip: gunzipSync, identity: (bytes: Buffer) => bytes };
    const asked: [string | undefined, keyof typeof decoders][] = [
      ["gzip, deflate, br, zstd", "br"],
      ["gzip", "gzip"],
      ["br;q=0, gzip;q=0.5", "gzip"],
      [undefined, "identity"],
      ["zstd", "identity"],
    ];
    const tags = new Set<unknown>();
    for (const [accepted, encoding] of asked) {
      const headers = accepted === undefined ? {} : { "accept-encoding": accepted };
      const answer = await fetchBytes(`/_/console/${scriptName}`, headers);
      assert.equal(decoders[encoding](answer.bytes).toString(), script, accepted ?? "none");
      assert.equal(answer.headers["content-encoding"], encoding === "identity" ? undefined : encoding);
      assert.equal(answer.headers["content-type"], "text/javascript; charset=utf-8");
      assert.equal(answer.headers["cache-control"], "public, max-age=31536000, immutable");
      assert.equal(answer.headers["vary"], "Accept-Encoding");
      const { etag } = answer.headers;
      const known = await fetchBytes(`/_/console/${scriptName}`, { ...headers, "if-none-match": `"x", ${etag}` });
      assert.deepEqual([known.status, known.bytes.length, known.headers["etag"]], [304, 0, etag]);
      const head = await fetchBytes(`/_/console/${scriptName}`, headers, "HEAD");
      assert.deepEqual([head.status, head.bytes.length], [200, 0]);
      tags.add(etag);
    }
    assert.equal(tags.size, 3, "a tag for each encoding");
  });

  it("have their content types, and are revalidated if their name has no hash", async () => {
    const types = {
      "assets/style-B5RoLeKn.css": "text/css; charset=utf-8",
      "assets/icon-c2E49a8-.svg": "image/svg+xml",
      "manifest.json": "application/json",
    };
    for (const [name, type] of Object.entries(types)) {
      const { status, headers } = await fetchBytes(`/_/console/${name}`);
      assert.deepEqual([status, headers["content-type"]], [200, type]);
      assert.equal(headers["cache-control"] === "no-cache", name === "manifest.json", name);
    }
  });

  it("do not exist under any other path, and no path leads out of the folder", async () => {
    for (const path of [
      ...["index.html", "assets", "assets/", ".built-from", ".hidden", `${scriptName}.br`, "assets/index.js"],
      ...["../package.json", "..%2f..%2fpackage.json", "%2e%2e/package.json", "assets/..%2findex.html", "a%00b"],
      ...["assets%2f%2e%2e%2f%2e%2e%2fmanifest.json", "%5c..%5cmanifest.json", "x".repeat(5_000)],
    ]) {
      const { status, bytes } = await fetchBytes(`/_/console/${path}`);
      assert.equal(status, 404, path);
      assert.equal(JSON.parse(bytes.toString()).error, "OperationNotFound", path);
    }
    for (const verb of ["POST", "PUT", "DELETE"])
      assertError(await test.call(`${verb} /_/console/`), 404, "OperationNotFound", 516, "There is no such operation.");
  });
});

// spec/console#headers-of-the-console
describe("headers of the console", () => {
  it("exclude other origins, frames and foreign scripts in every response", async () => {
    for (const path of paths) {
      const origin = { origin: "http://evil.example" };
      for (const method of ["GET", "HEAD"]) assertFenced(await fetchBytes(path, origin, method), `${method} ${path}`);
    }
  });

  it("allow only elements with the nonce, and require Trusted Types", async () => {
    const answer = await fetchBytes("/_/console/");
    const nonce = `'nonce-${nonceOf(answer)}'`;
    assert.equal(
      policyOf(answer),
      `default-src 'none'; script-src ${nonce} 'strict-dynamic'; style-src 'self' ${nonce}; img-src 'self' data: blob:; media-src 'self'; connect-src 'self'; worker-src 'self'; font-src 'self'; manifest-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'; require-trusted-types-for 'script'; trusted-types default`,
    );
  });
});

// spec/console#fences
describe("CONSOLE and OPERATOR_ADDRESSES", () => {
  it("remove the pages and their links with CONSOLE=off, but not the operations", async (t) => {
    const off = await startTestApp(
      { CONSOLE: "off", DATABASE_URL: test.config.databaseUrl },
      { consoleFolder: folder },
    );
    t.after(() => off.close());
    for (const path of paths) assert.equal((await off.call(`GET ${path}`)).body.error, "OperationNotFound", path);
    assert.equal((await off.call("GET /_/")).body.result.console, undefined);
    assert.doesNotMatch((await off.call("GET /_/docs")).text, /console/);
    const { token } = await off.createOperator();
    assert.equal((await off.call("GET /_/api/operators/me", { token })).status, 200);
  });

  it("hide all operator pages and operations from an address that is not listed, before the request is read", async (t) => {
    const settings = { OPERATOR_ADDRESSES: "10.0.0.0/8,2001:db8::/32,192.0.2.1", TRUST_PROXY: "loopback" };
    const fenced = await startTestApp(settings, { consoleFolder: folder });
    t.after(() => fenced.close());
    const { token, name, password } = await fenced.createOperator();
    const from = (address: string) => ({ "x-forwarded-for": address });
    for (const address of ["10.1.2.3", "192.0.2.1", "2001:db8::7", "::ffff:10.9.9.9"]) {
      const headers = from(address);
      assert.equal((await fenced.call("GET /_/api/operators/me", { token, headers })).status, 200, address);
      assert.equal((await fenced.call("GET /_/console/", { headers })).status, 200, address);
    }
    const body = { name, password };
    const nothing = await fenced.call("GET /nothing", { headers: from("11.0.0.1") });
    for (const headers of [{}, from("127.0.0.1"), from("11.0.0.1"), from("192.0.2.2"), from("10.0.0.1, 11.0.0.1")]) {
      for (const operation of [
        ...["GET /_/api/operators/me", "GET /_/api/nothing", "POST /_/api/sessions", "DELETE /_/api/sessions"],
        ...["GET /_/console", "GET /_/console/", `HEAD /_/console/${scriptName}`, `GET /_/console/${scriptName}`],
      ]) {
        const [method = "", path = ""] = operation.split(" ");
        const answer = await send(fenced.port, method, path, {
          token,
          headers,
          ...(operation.startsWith("POST") && { body }),
        });
        assert.equal(answer.status, 404, `${operation} ${JSON.stringify(headers)}`);
        const { "content-length": _length, date: _date, ...sent } = answer.headers;
        const { "content-length": _other, date: _then, ...expected } = nothing.headers;
        assert.deepEqual(sent, expected, "as for a path that does not exist");
      }
    }
    const user = await fenced.signUp();
    const requests = [
      { method: "POST", path: "/_/api/sessions", parameters: body },
      { method: "GET", path: "/_/api/operators/me" },
    ];
    const batch = await fenced.call("POST /batch", { token: user.token, body: { requests } });
    for (const { error, message } of batch.body.result.responses)
      assert.deepEqual([error, message], ["OperationNotFound", "There is no such operation."]);
    assert.equal((await fenced.call("GET /_/health/ready")).status, 200);
  });
});

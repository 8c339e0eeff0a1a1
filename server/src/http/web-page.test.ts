// Runs on one engine: it tests pages and documents, which no statement reads.
import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { get, type IncomingMessage } from "node:http";
import { createRequire } from "node:module";
import { join } from "node:path";
import { buffer } from "node:stream/consumers";
import { after, before, describe, it } from "node:test";
import { brotliDecompressSync, gunzipSync } from "node:zlib";
import { assertResult, startTestApp, type TestApp } from "../../test/harness.ts";

let test: TestApp;
before(async () => {
  test = await startTestApp();
});
after(() => test.close());

const page = "/_/docs";
const documents = ["/_/openapi.json", "/_/openapi.operators.json"];

/** The content for a client without compression. */
async function readText(path: string): Promise<string> {
  return (await test.call(`GET ${path}`)).text;
}

/** The paths of the assets that the page loads. */
async function findAssets(): Promise<string[]> {
  const { text } = await test.call(`GET ${page}`);
  return [...text.matchAll(/<(?:script src|link rel="\w+" href)="([^"]*)"/g)].map(([, address = ""]) =>
    address === "data:," ? address : new URL(address, `http://host${page}`).pathname,
  );
}

describe("/_/docs", () => {
  it("is served without a token, with and without a trailing slash", async () => {
    for (const path of [page, `${page}/`]) {
      const { status, headers, text } = await test.call(`GET ${path}`);
      assert.deepEqual([status, headers["content-type"]], [200, "text/html; charset=utf-8"]);
      assert.match(text, /^<!doctype html>/);
    }
  });

  it("loads only assets of this server, each with its type", async () => {
    const assets = await findAssets();
    assert.ok(assets.length >= 3);
    for (const address of assets) {
      if (address === "data:,") continue; // an empty icon
      assert.match(address, /^\/_\/docs\/[\w.-]+$/);
      const { status, headers, text } = await test.call(`GET ${address}`);
      assert.equal(status, 200, address);
      const type = address.endsWith(".css") ? "text/css" : "text/javascript";
      assert.equal(headers["content-type"], `${type}; charset=utf-8`);
      assert.ok(text.length > 0);
    }
  });

  it("refers to no other host in its HTML and styles; the content security policy restricts its scripts", async () => {
    const { text: html } = await test.call(`GET ${page}`);
    assert.doesNotMatch(html, /https?:|\/\/\w|<base|<iframe|@import/i);
    const { text: start } = await test.call("GET /_/docs/start.js");
    assert.doesNotMatch(start, /https?:|["']\/\//);
    assert.match(start, /validatorUrl: null/); // the default would send the document to a public validator
    const css = await readText("/_/docs/swagger-ui.css");
    const loaded = css.match(/@import.{0,20}|url\(.{0,20}/gi) ?? [];
    assert.deepEqual(
      loaded.filter((address) => !/^url\(["']?data:/.test(address)),
      [],
    );
  });

  it("cannot load anything from other hosts, be framed, or be sniffed as another type", async () => {
    for (const path of [page, ...documents, ...(await findAssets()).filter((address) => address !== "data:,")]) {
      const { headers } = await test.call(`GET ${path}`);
      const policy = `${headers["content-security-policy"]}`.split("; ");
      assert.ok(policy.includes("default-src 'self'"), path);
      assert.ok(policy.includes("frame-ancestors 'none'"), path);
      assert.ok(policy.includes("base-uri 'none'"), path);
      assert.ok(!policy.some((rule) => /https?:|\*|unsafe-eval|script-src.*unsafe-inline/.test(rule)), path);
      assert.equal(headers["x-content-type-options"], "nosniff", path);
      assert.equal(headers["referrer-policy"], "no-referrer", path);
      assert.equal(headers["cross-origin-opener-policy"], "same-origin", path);
      assert.equal(headers["cross-origin-resource-policy"], "same-origin", path);
    }
  });

  it("no other file of the assets folder is served, for any path", async () => {
    const paths = [
      "package.json",
      "index.html",
      "..%2Fpackage.json",
      "%2e%2e/package.json",
      "../../package.json",
      "%00",
    ];
    for (const path of paths) assert.equal((await test.call(`GET ${page}/${path}`)).status, 404, path);
  });
});

describe("pages and compression", () => {
  it("are compressed as the client accepts, each encoding with its own entity tag", async () => {
    const plain = await readText("/_/docs/swagger-ui-bundle.js");
    assert.ok(plain.length > 1_000_000);
    const tags = new Set<unknown>();
    for (const [accept, encoding, decode] of [
      ["gzip, deflate, br", "br", brotliDecompressSync],
      ["br;q=0, gzip", "gzip", gunzipSync],
      ["*", "br", brotliDecompressSync],
      ["identity", undefined, (bytes: Buffer) => bytes],
    ] as const) {
      const { headers, bytes } = await fetchBytes("/_/docs/swagger-ui-bundle.js", { "accept-encoding": accept });
      assert.equal(headers["content-encoding"], encoding, accept);
      assert.equal(headers["vary"], "Accept-Encoding");
      assert.equal(decode(bytes).toString(), plain);
      tags.add(headers["etag"]);
    }
    assert.equal(tags.size, 3);
    const { headers, bytes } = await fetchBytes("/_/openapi.json", { "accept-encoding": "gzip" });
    assert.equal(headers["content-encoding"], "gzip");
    assert.ok(bytes.length < 65_536, `${bytes.length} bytes`);
    assert.equal(JSON.parse(gunzipSync(bytes).toString()).openapi, "3.1.0");
  });

  it("get 304 without a body if the client has the page", async () => {
    for (const path of [...documents, page, "/_/docs/swagger-ui.css"]) {
      const { headers } = await fetchBytes(path, {});
      const tag = `${headers["etag"]}`;
      for (const given of [tag, `W/${tag}`, `"other", ${tag}`, "*"]) {
        const again = await fetchBytes(path, { "if-none-match": given });
        assert.deepEqual([again.status, again.bytes.length], [304, 0], given);
      }
      assert.equal((await fetchBytes(path, { "if-none-match": '"other"' })).status, 200);
      if (path === page) continue; // too small to be compressed
      assert.equal((await fetchBytes(path, { "if-none-match": tag, "accept-encoding": "gzip" })).status, 200);
    }
  });

  async function fetchBytes(path: string, headers: Record<string, string>) {
    const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
    get(`${test.url}${path}`, { headers, agent: false }, resolve).on("error", reject);
    const answer = await promise;
    return { status: answer.statusCode, headers: answer.headers, bytes: await buffer(answer) };
  }
});

describe("the files of Swagger UI", () => {
  it("match the package in package.json and include its licence, and the server does not depend on the package", () => {
    const { resolve } = createRequire(import.meta.url);
    const folder = join(import.meta.dirname, "../../assets/docs");
    for (const file of ["swagger-ui-bundle.js", "swagger-ui.css"]) {
      const kept = brotliDecompressSync(readFileSync(join(folder, `${file}.br`)));
      assert.ok(kept.equals(readFileSync(resolve(`swagger-ui-dist/${file}`))), `${file}: run npm run docs`);
    }
    for (const file of ["LICENSE", "NOTICE"]) assert.ok(existsSync(join(folder, file)));
    const lock = JSON.parse(readFileSync(join(import.meta.dirname, "../../../package-lock.json"), "utf8"));
    for (const name of ["swagger-ui-dist", "@scarf/scarf"]) {
      assert.equal(lock.packages[`node_modules/${name}`].dev, true, `${name} would reach users of the package`);
    }
  });
});

describe("/_/docs/operators", () => {
  it("is a separate page, and each page shows and links the document for its readers", async () => {
    for (const [path, document] of [
      ["/_/docs", "openapi.json"],
      ["/_/docs/operators", "openapi.operators.json"],
    ] as const) {
      const html = await readText(path);
      assert.ok(html.includes(`data-openapi="${document}"`), path);
      assert.match(html, new RegExp(`href="[./]*${document.replaceAll(".", "\\.")}">OpenAPI`), path);
    }
    const start = await readText("/_/docs/start.js");
    assert.match(start, /dataset\.openapi/);
    assert.match(start, /persistAuthorization: true/);
  });
});

// spec/transport#service-pages
describe("GET /", () => {
  const browser = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8";

  it("returns links to docs, OpenAPI and health to clients, as JSON in the envelope", async () => {
    for (const accept of [undefined, "*/*", "application/json", "application/json, text/html", "text/html;q=0, */*"]) {
      const answer = await test.call("GET /", { headers: accept === undefined ? {} : { accept } });
      const links = { docs: "/_/docs", openapi: "/_/openapi.json", health: "/_/health/ready" };
      const { version } = (await test.call("GET /_/")).body.result;
      assertResult(answer, 200, { name: "Rollcall", version, ...links });
      assert.equal(answer.headers["content-type"], "application/json");
      assert.equal(answer.headers["vary"], "Accept");
      for (const address of Object.values(links)) assert.equal((await test.call(`GET ${address}`)).status, 200);
    }
  });

  it("returns a page to browsers, which links only to this server and has the policy of all pages", async () => {
    const { status, headers, text } = await test.call("GET /", { headers: { accept: browser } });
    assert.deepEqual([status, headers["content-type"]], [200, "text/html; charset=utf-8"]);
    assert.equal(headers["vary"], "Accept, Accept-Encoding");
    assert.match(`${headers["content-security-policy"]}`, /default-src 'self'.*frame-ancestors 'none'/);
    assert.doesNotMatch(text, /https?:|<script|\/\/\w/);
    for (const [, address = ""] of text.matchAll(/<a href="([^"]*)"/g)) {
      assert.equal((await test.call(`GET ${address}`)).status, 200, address);
    }
  });

  it("accepts HEAD, and other verbs and unknown paths stay OperationNotFound", async () => {
    for (const accept of ["*/*", browser]) {
      const { status, text } = await test.call("HEAD /", { headers: { accept } });
      assert.deepEqual([status, text], [200, ""]);
    }
    for (const operation of ["POST /", "DELETE /", "GET /index.html", "GET /nothing"]) {
      const { status, body } = await test.call(operation, { headers: { accept: browser } });
      assert.deepEqual([status, body.error], [404, "OperationNotFound"], operation);
    }
  });
});

import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { startTestApp, type TestApp } from "../../test/harness.ts";

let test: TestApp;
before(async () => {
  test = await startTestApp();
});
after(() => test.close());

const page = "/_/docs";

/** What the page loads by itself, as paths. */
async function findAssets(): Promise<string[]> {
  const { text } = await test.call(`GET ${page}`);
  return [...text.matchAll(/\b(?:src|href)="([^"]*)"/g)].map(([, address]) => address ?? "");
}

describe("/_/docs", () => {
  it("is a page without a token, also with a slash behind it", async () => {
    for (const path of [page, `${page}/`]) {
      const { status, headers, text } = await test.call(`GET ${path}`);
      assert.deepEqual([status, headers["content-type"]], [200, "text/html; charset=utf-8"]);
      assert.match(text, /^<!doctype html>/);
    }
  });

  it("loads only what this server serves, each with its type", async () => {
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

  it("refers to no outside host, in its own text and in its styles; its scripts are held to that by the policy", async () => {
    const { text: html } = await test.call(`GET ${page}`);
    assert.doesNotMatch(html, /https?:|\/\/\w|<base|<iframe|@import/i);
    const { text: start } = await test.call("GET /_/docs/start.js");
    assert.doesNotMatch(start, /https?:|["']\/\//);
    assert.match(start, /validatorUrl: null/); // it would send the document to a public validator
    const { text: css } = await test.call("GET /_/docs/swagger-ui.css");
    const loaded = css.match(/@import.{0,20}|url\(.{0,20}/gi) ?? [];
    assert.deepEqual(
      loaded.filter((address) => !/^url\(["']?data:/.test(address)),
      [],
    );
  });

  it("may load nothing from elsewhere, be framed by nobody, and is never taken for another type", async () => {
    for (const path of [page, "/_/openapi.json", ...(await findAssets()).filter((address) => address !== "data:,")]) {
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

  it("nothing else of the assets' folder is served, whatever the path says", async () => {
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

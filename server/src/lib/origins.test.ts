import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { isOrigin, originProblem } from "./origins.ts";

describe("an origin in the settings", () => {
  it("is accepted if a page, an app shell or an extension can have it, or if it allows all subdomains", () => {
    for (const right of [
      ...[
        "https://example.org",
        "http://localhost:3000",
        "http://[::1]:3000",
        "http://tauri.localhost",
        "https://xn--mnchen-3ya.de",
      ],
      ...["capacitor://localhost", "ionic://localhost", "tauri://localhost", "app://-", "http://127.0.0.1:8080"],
      ...[
        "chrome-extension://abcdefghijklmnopabcdefghijklmnop",
        "moz-extension://0f0e7a0c-92d1-4e3f-9f0a-2f4f4f2b7d11",
      ],
    ]) {
      assert.equal(originProblem(right), undefined, right);
      assert.ok(isOrigin(right));
    }
    for (const wild of ["https://*.example.org", "https://*.a.example.org:8443", "http://*.localhost:3000"]) {
      assert.equal(originProblem(wild), undefined, wild);
      assert.ok(!isOrigin(wild), "no page has it");
    }
  });

  it("is refused with a correction if no page can have it", () => {
    for (const [wrong, problem] of [
      ["https://Example.org", "browsers write https://example.org"],
      ["https://example.org/", "browsers write https://example.org"],
      ["https://example.org/app?x#y", "browsers write https://example.org"],
      ["https://example.org:443", "browsers write https://example.org"],
      ["http://example.org:80", "browsers write http://example.org"],
      ["https://m\u00fcnchen.de", "browsers write https://xn--mnchen-3ya.de"],
      ["https://*.M\u00fcnchen.de/", "browsers write https://*.xn--mnchen-3ya.de"],
      ["https://user@example.org", "browsers write https://example.org"],
      ["Capacitor://localhost", "browsers write capacitor://localhost"],
      ["capacitor://localhost/index.html", "browsers write capacitor://localhost"],
      ["example.org", "an origin begins with a scheme: write https://example.org"],
      ["localhost:3000", "an origin begins with a scheme: write https://localhost:3000"],
      ["//example.org", "an origin begins with a scheme: write https://example.org"],
      ["*", "without origins, all pages may call"],
      ["null", "pages of any site can have this origin, so it cannot be allowed"],
      ["file://", "no page has an origin with this scheme"],
      ["wss://example.org", "no page has an origin with this scheme"],
      ...[
        "",
        "https://",
        "https://*",
        "https://*.org",
        "https://a.*.example.org",
        "https://*.1.2.3.4",
        "https://*.*.example.org",
      ].map((text) => [text, text === "" ? "an origin begins with a scheme" : form] as const),
      ...["app://", "my app://x", "capacitor://*", "chrome-extension://a b"].map((text) => [text, form] as const),
    ] as const) {
      assert.equal(originProblem(wrong), problem, wrong);
    }
  });
});

const form = "this is no scheme and host, such as https://app.example.com";

// Runs on one engine: no database takes part.
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { OriginList } from "../lib/origins.ts";
import { allowedOrigin } from "./cors.ts";

const ours = "https://app.example";

describe("the origins whose pages may read a response", () => {
  it("are all origins when the application has no list", () => {
    for (const origin of [ours, "null", undefined]) {
      assert.equal(allowedOrigin(origin, { origins: undefined }), "*");
    }
  });

  it("are exactly the listed origins otherwise", () => {
    const listed = [ours, "http://localhost:3000", "capacitor://localhost", "app://-"];
    const policy = { origins: new OriginList(listed) };
    for (const origin of listed) assert.equal(allowedOrigin(origin, policy), origin);
    for (const origin of [
      ...[undefined, "", "null", "*", "http://app.example", "https://app.example:8443", "https://app.example/"],
      ...["https://app.example.evil.example", "https://evil-app.example", "https://APP.example", `${ours}, ${ours}`],
    ]) {
      assert.equal(allowedOrigin(origin, policy), undefined, `${origin}`);
    }
  });

  it("include the subdomains of a host with a wildcard, at any depth, but not the host itself", () => {
    const policy = { origins: new OriginList(["https://*.app.example", "http://*.localhost:3000"]) };
    for (const origin of [
      "https://a.app.example",
      "https://xn--mnchen-3ya.b_1.app.example",
      "http://a.localhost:3000",
    ]) {
      assert.equal(allowedOrigin(origin, policy), origin);
    }
    for (const origin of [
      ...[ours, "https://.app.example", "http://a.app.example", "https://a.app.example:8443", "https://a.app.example/"],
      ...[
        "https://evil-app.example",
        "https://a.app.example.evil.example",
        "http://a.localhost",
        "https://*.app.example",
      ],
      ...["https://evil.example/.app.example", "https://u:p@a.app.example", "https://evil.example#.app.example"],
    ]) {
      assert.equal(allowedOrigin(origin, policy), undefined, origin);
    }
  });

  it("are no origins when the list is empty", () => {
    assert.equal(allowedOrigin(ours, { origins: new Set() }), undefined);
  });
});

// Runs on one engine: no database takes part.
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { allowedOrigin } from "./cors.ts";

const ours = "https://app.example";

describe("the origins whose pages may read a response", () => {
  it("are all origins when the application lists none", () => {
    for (const origin of [ours, "null", undefined]) {
      assert.equal(allowedOrigin(origin, { origins: undefined }), "*");
    }
  });

  it("are exactly the listed origins otherwise", () => {
    const policy = { origins: new Set([ours, "http://localhost:3000"]) };
    for (const origin of policy.origins) assert.equal(allowedOrigin(origin, policy), origin);
    for (const origin of [
      ...[undefined, "", "null", "*", "http://app.example", "https://app.example:8443", "https://app.example/"],
      ...["https://app.example.evil.example", "https://evil-app.example", "https://APP.example", `${ours}, ${ours}`],
    ]) {
      assert.equal(allowedOrigin(origin, policy), undefined, `${origin}`);
    }
  });

  it("are none when the list is empty", () => {
    assert.equal(allowedOrigin(ours, { origins: new Set() }), undefined);
  });
});

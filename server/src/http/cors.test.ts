import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { allowedOrigin } from "./cors.ts";

const ours = "https://app.example";

describe("the origins whose pages may read an answer", () => {
  it("are all of them where an application names none", () => {
    for (const origin of [ours, "null", undefined]) {
      assert.equal(allowedOrigin(origin, { origins: undefined }), "*");
    }
  });

  it("are else those that it names, to the letter", () => {
    const policy = { origins: new Set([ours, "http://localhost:3000"]) };
    for (const origin of policy.origins) assert.equal(allowedOrigin(origin, policy), origin);
    for (const origin of [
      ...[undefined, "", "null", "*", "http://app.example", "https://app.example:8443", "https://app.example/"],
      ...["https://app.example.evil.example", "https://evil-app.example", "https://APP.example", `${ours}, ${ours}`],
    ]) {
      assert.equal(allowedOrigin(origin, policy), undefined, `${origin}`);
    }
  });

  it("are none where it names an empty list", () => {
    assert.equal(allowedOrigin(ours, { origins: new Set() }), undefined);
  });
});

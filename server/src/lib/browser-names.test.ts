import assert from "node:assert/strict";
import { it } from "node:test";
import { browserNameOf } from "./browser-names.ts";

const windows = "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/156.0.0.0";

it("a browser is described in fixed words, whatever its User-Agent contains", () => {
  const names: Readonly<Record<string, string>> = {
    [`${windows} Safari/537.36`]: "Chrome on Windows",
    [`${windows} Safari/537.36 Edg/156.0.0.0`]: "Edge on Windows",
    "Mozilla/5.0 (X11; Linux x86_64; rv:150.0) Gecko/20100101 Firefox/150.0": "Firefox on Linux",
    "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 Version/26.0 Safari/605.1.15":
      "Safari on macOS",
    "Mozilla/5.0 (iPhone; CPU iPhone OS 26_0 like Mac OS X) AppleWebKit/605.1.15 CriOS/156.0 Safari/604.1":
      "Chrome on iOS",
    "Mozilla/5.0 (Linux; Android 16) AppleWebKit/537.36 SamsungBrowser/30.0 Chrome/140.0 Safari/537.36":
      "Samsung Internet on Android",
    "curl/8.14.1": "curl",
    "<script>alert(1)</script>": "Another client",
    [`${"x".repeat(100_000)} Firefox/1`]: "Another client",
    "": "Another client",
  };
  for (const [header, name] of Object.entries(names)) assert.equal(browserNameOf(header), name, header.slice(0, 99));
  assert.equal(browserNameOf(undefined), "Another client");
});

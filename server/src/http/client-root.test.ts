// Runs on one engine: links depend only on the request.
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { openStream } from "../../test/event-streams.ts";
import { startTestApp, type TestApp } from "../../test/harness.ts";
import { createUpload } from "../../test/tus.ts";
import { dataPart, formHeaders, formOf } from "../../test/uploads.ts";

// spec/transport#absolute-urls
describe("links without PUBLIC_URL", () => {
  let test: TestApp;
  let token: string;
  before(async () => {
    test = await startTestApp({ HOST: "0.0.0.0", TRUST_PROXY: "loopback" });
    ({ token } = await test.signUp());
  });
  after(() => test.close());

  async function linkOf(headers: Readonly<Record<string, string>>): Promise<URL> {
    const answer = await test.call("POST /blobs", {
      token,
      body: formOf([dataPart("text", "text/plain")]),
      headers: { ...formHeaders, ...headers },
    });
    assert.equal(answer.status, 201, answer.text);
    return new URL(answer.body.result.signedUrl);
  }
  const proxied = {
    "x-forwarded-proto": "https",
    "x-forwarded-host": "api.example.org",
    "x-forwarded-for": "203.0.113.9",
  };

  it("have the address that the client used, even behind a trusted proxy", async () => {
    for (const [headers, origin] of [
      [{ host: "files.example.org:8443" }, "http://files.example.org:8443"],
      [{ host: "[2001:db8::1]:8080" }, "http://[2001:db8::1]:8080"],
      [{ host: "inner", ...proxied }, "https://api.example.org"],
      [{ host: "api.example.org", "x-forwarded-proto": "https" }, "https://api.example.org"],
    ] as const) {
      assert.equal((await linkOf(headers)).origin, origin);
    }
    const links = await Promise.all(["a", "b", "c"].map((host) => linkOf({ host })));
    assert.deepEqual(
      links.map(({ host }) => host),
      ["a", "b", "c"],
    );
  });

  it("never have a wildcard address or an invalid host", async () => {
    for (const host of ["", "a b", "evil.example/path?", "user@evil.example", "x".repeat(300)]) {
      const { hostname } = await linkOf({ host });
      assert.notEqual(hostname, "0.0.0.0");
      assert.match(hostname, /^\d+\.\d+\.\d+\.\d+$/);
    }
  });

  it("have it in resumable uploads, items of a batch and streams too", async () => {
    const headers = { host: "inner", ...proxied };
    const upload = await createUpload(test, token, 5, { kind: "blob" }, { headers });
    assert.match(`${upload.headers["location"]}`, /^https:\/\/api\.example\.org\/files\/uploads\//);
    await linkOf(headers);
    const requests = [{ method: "GET", path: "/blobs" }];
    const batch = await test.call("POST /batch", { token, headers, body: { requests } });
    assert.equal(batch.status, 200, batch.text);
    assert.match(batch.text, /"signedUrl":"https:\/\/api\.example\.org\/blobs\//);
    const stream = await test.call("POST /events/streams", { token, headers, body: {} });
    assert.match(stream.body.result.url, /^https:\/\/api\.example\.org\/events\/stream\?ticket=/);
  });

  it("in events have the address of each client, not of the client that opened a stream first", async (t) => {
    const other = await test.signUp();
    const first = await openStream(test.port, "/events/stream", {
      token: other.token,
      headers: { host: "evil.example" },
    });
    const second = await openStream(test.port, "/events/stream", { token, headers: { host: "good.example" } });
    t.after(() => {
      for (const stream of [first, second]) stream.cut();
    });
    await linkOf({ host: "evil.example" });
    await second.until(({ data }) => JSON.stringify(data ?? "").includes("signedUrl"));
    assert.match(second.text, /"signedUrl":"http:\/\/\d/);
    assert.doesNotMatch(second.text, /evil\.example/);
  });
});

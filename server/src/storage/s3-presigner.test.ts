// Runs on one engine: no database takes part.
import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { type S3Server, startS3Server } from "../../test/s3-server.ts";
import { signatureOf } from "../../test/s3-signature.ts";
import type { ByteStore } from "./byte-store.ts";
import { openByteStore } from "./open.ts";

const sent = {
  contentType: "text/plain",
  contentDisposition: `inline; filename="it's (a) 1+1 _.txt"; filename*=UTF-8''it%27s%20%28a%29%201%2B1%20%C3%BC.txt`,
  cacheControl: "private, no-cache",
};

describe("a presigned URL", () => {
  let folder: string;
  let server: S3Server;
  let store: ByteStore;
  before(async () => {
    folder = mkdtempSync(join(tmpdir(), "rollcall-bytes-"));
    server = await startS3Server(folder);
    store = await open(`${server.url}&prefix=rollcall`);
    for (const name of ["a", "b"]) {
      await store.write(`app_1/blb_1/${name}`, [Buffer.from(`bytes of ${name}`)] as unknown as AsyncIterable<Buffer>);
    }
  });
  after(async () => {
    await server.close();
    rmSync(folder, { recursive: true, force: true });
  });

  function open(filesUrl: string, filesDownload: "stream" | "redirect" = "redirect"): Promise<ByteStore> {
    return openByteStore({ filesUrl, filesDownload, ...server.keys });
  }

  async function presign(lifetimeSeconds: number): Promise<string> {
    assert.ok(store.presign !== undefined);
    return store.presign("app_1/blb_1/a", lifetimeSeconds, sent);
  }

  it("returns the object with the signed headers, also in ranges", async () => {
    const address = await presign(60);
    const whole = await fetch(address);
    assert.deepEqual([whole.status, await whole.text()], [200, "bytes of a"]);
    const headers = ["content-type", "content-disposition", "cache-control"].map((name) => whole.headers.get(name));
    assert.deepEqual(headers, [sent.contentType, sent.contentDisposition, sent.cacheControl]);
    const part = await fetch(address, { headers: { range: "bytes=0-4" } });
    assert.deepEqual([part.status, await part.text()], [206, "bytes"]);
  });

  it("gives access to no other object, no other headers, and no writes", async () => {
    const address = await presign(60);
    const changes: [from: string | RegExp, to: string][] = [
      ["/a?", "/b?"],
      ["text%2Fplain", "text%2Fhtml"],
      ["inline", "attachment"],
      ["X-Amz-Expires=60", "X-Amz-Expires=600"],
      [/X-Amz-Signature=\w+/, "X-Amz-Signature=0"],
      [/&X-Amz-Signature=\w+/, ""],
    ];
    for (const [from, to] of changes) {
      const changed = address.replace(from, to);
      assert.notEqual(changed, address);
      const { status } = await fetch(changed);
      assert.ok(status === 403 || status === 400, `${status} ${from}`);
    }
    assert.equal((await fetch(address, { method: "PUT", body: "x" })).status, 403);
    assert.equal((await fetch(address, { method: "DELETE" })).status, 403);
    assert.equal((await fetch(address)).status, 200);
  });

  it("is invalid once it has expired or the object is deleted", async () => {
    const address = await presign(1);
    await sleep(2_100); // expiry has a resolution of one second
    assert.equal((await fetch(address)).status, 403);
    const later = await presign(60);
    await store.deleteAll("app_1/");
    assert.equal((await fetch(later)).status, 404);
  });

  it("points to the bucket on AWS, or below the endpoint and its path", async () => {
    for (const [filesUrl, expected] of [
      ["s3://bucket?region=eu-west-1&prefix=a", "https://bucket.s3.eu-west-1.amazonaws.com/a/app_1/blb_1/a"],
      ["s3://a.bucket?region=eu-west-1", "https://s3.eu-west-1.amazonaws.com/a.bucket/app_1/blb_1/a"],
      ["s3://bucket?endpoint=https://s3.example.org", "https://s3.example.org/bucket/app_1/blb_1/a"],
      ["s3://bucket?endpoint=http://host:81/base/", "http://host:81/base/bucket/app_1/blb_1/a"],
    ] as const) {
      const address = await (await open(filesUrl)).presign?.("app_1/blb_1/a", 60, sent);
      assert.equal(address?.split("?")[0], expected);
    }
    for (const key of ["../a", "/a", "a?b", ""]) await assert.rejects(presignOf(key), RangeError);
  });

  async function presignOf(key: string): Promise<string | undefined> {
    return store.presign?.(key, 60, sent);
  }

  it("is verified here as AWS does it: the example of the S3 API reference", () => {
    const url = new URL(
      "https://examplebucket.s3.amazonaws.com/test.txt?X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Credential=AKIAIOSFODNN7EXAMPLE%2F20130524%2Fus-east-1%2Fs3%2Faws4_request&X-Amz-Date=20130524T000000Z&X-Amz-Expires=86400&X-Amz-SignedHeaders=host",
    );
    const signature = "aeeed9bbccd4d02ee5c0109b86d86835f995330da4c265957d157751f604d404";
    assert.equal(signatureOf("GET", url, "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"), signature);
  });

  it("is not available if downloads are streamed", async () => {
    assert.equal((await open("s3://bucket", "stream")).presign, undefined);
  });
});

// Runs on one engine: no database takes part.
import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer, type RequestListener } from "node:http";
import { describe, it, type TestContext } from "node:test";
import { inspect } from "node:util";
import { ApiError } from "../lib/errors.ts";
import type { ByteStore } from "./byte-store.ts";
import { openByteStore } from "./open.ts";

const secret = "the secret key of the bucket";

function openAt(port: number): Promise<ByteStore> {
  const filesUrl = `s3://files?endpoint=http://127.0.0.1:${port}`;
  return openByteStore({ filesUrl, filesDownload: "stream", awsAccessKeyId: "id", awsSecretAccessKey: secret });
}

/** Opens a store on a server that answers with `listener`. */
async function openFake(t: TestContext, listener: RequestListener): Promise<ByteStore> {
  const server = createServer((request, response) => {
    request.resume();
    listener(request, response);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  const address = server.address();
  assert.ok(address !== null && typeof address === "object");
  return openAt(address.port);
}

function isUnavailable(error: unknown): boolean {
  return error instanceof ApiError && error.condition === "ServiceUnavailable";
}

const calls: [name: string, call: (store: ByteStore) => Promise<unknown>][] = [
  ["a write", (store) => store.write("app_1/pic_1/a", bytesOf(10))],
  ["a long write", (store) => store.write("app_1/pic_1/a", bytesOf(20_000_000))],
  ["a read", (store) => store.read("app_1/pic_1/a")],
  ["a deletion", (store) => store.deleteAll("app_1/")],
  ["a cleaning", (store) => store.cleanUp(0)],
];

describe("an S3 store", { concurrency: true }, () => {
  for (const [name, call] of calls) {
    it(`fails with ServiceUnavailable in ${name} if the store is unreachable`, async () => {
      await assert.rejects(call(await openAt(1)), isUnavailable);
    });

    it(`fails with ServiceUnavailable in ${name} if the store is overloaded`, async (t) => {
      const store = await openFake(t, (_, response) => {
        response.writeHead(503, { "Content-Type": "application/xml" });
        response.end("<Error><Code>SlowDown</Code></Error>");
      });
      await assert.rejects(call(store), isUnavailable);
    });

    it(`fails in ${name} with an error for the operator, without the secret, if the store refuses our credentials`, async (t) => {
      const store = await openFake(t, (_, response) => {
        response.writeHead(403, { "Content-Type": "application/xml" });
        response.end("<Error><Code>SignatureDoesNotMatch</Code><Message>no</Message></Error>");
      });
      await assert.rejects(call(store), (error: Error) => {
        assert.equal(error.name, "SignatureDoesNotMatch");
        assert.ok(!inspect(error, { depth: 9, showHidden: true }).includes(secret));
        return true;
      });
    });
  }

  it("has nothing to clean up if it cannot list unfinished uploads", async (t) => {
    const store = await openFake(t, (_, response) => {
      response.writeHead(501, { "Content-Type": "application/xml" });
      response.end("<Error><Code>NotImplemented</Code></Error>");
    });
    await store.cleanUp(0);
  });

  it("deletes an object whose write may have succeeded although no response arrived", async (t) => {
    const seen: string[] = [];
    const store = await openFake(t, (request, response) => {
      seen.push(`${request.method} ${request.url?.replace(/\?.*/, "")}`);
      if (request.method === "PUT") request.on("end", () => request.socket.destroy());
      else response.writeHead(204).end();
    });
    await assert.rejects(store.write("app_1/pic_1/a", bytesOf(10)), isUnavailable);
    assert.deepEqual([...new Set(seen)], ["PUT /files/app_1/pic_1/a", "DELETE /files/app_1/pic_1/a"]);
  });
});

async function* bytesOf(count: number): AsyncGenerator<Uint8Array> {
  yield Buffer.alloc(count);
}

import assert from "node:assert/strict";
import { once } from "node:events";
import { connect } from "node:net";
import { Readable } from "node:stream";
import { text } from "node:stream/consumers";
import { after, before, describe, it } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { assertError, openRaw, startTestApp, type TestApp, type TestUser } from "../../test/harness.ts";
import { dataPart, download, formHeaders, formOf, upload } from "../../test/uploads.ts";
import { BytesMissing } from "../storage/byte-store.ts";

let test: TestApp;
let owner: TestUser;
before(async () => {
  test = await startTestApp({ REQUEST_TIMEOUT_MS: "2000", KEEP_ALIVE_TIMEOUT_MS: "10000" });
  owner = await test.signUp();
});
after(() => test.close());

function headOf(form: Buffer): string {
  const { "content-type": contentType } = formHeaders;
  return `POST /blobs HTTP/1.1\r\nHost: a\r\nAuthorization: Service ${owner.token}\r\nContent-Type: ${contentType}\r\nContent-Length: ${form.length}\r\n\r\n`;
}

describe("long uploads", () => {
  it("may last longer than other requests, and the connection stays usable", async () => {
    const form = formOf([dataPart("x".repeat(600))]);
    const connection = openRaw(test.port);
    for (let n = 0; n < 2; n += 1) {
      connection.write(headOf(form));
      for (let start = 0; start < form.length; start += 100) {
        connection.write(form.subarray(start, start + 100));
        await sleep(450); // in total longer than the timeout
      }
      const answer = await connection.receive();
      assert.deepEqual([answer?.status, answer?.body?.result?.contentLength], [201, 600]);
    }
    connection.close();
  });

  it("are aborted when no more bytes arrive: 400 FileUploadFailed", async () => {
    const form = formOf([dataPart("x".repeat(600))]);
    const connection = openRaw(test.port);
    connection.write(headOf(form));
    connection.write(form.subarray(0, 300));
    const answer = await connection.receive();
    assert.ok(answer !== undefined);
    assertError(answer, 400, "FileUploadFailed", 1025, "The upload was interrupted.");
    connection.close();
    const loose = await test.app.database.reads.selectFrom("loose_bytes").selectAll().execute();
    assert.equal(loose.length, 0);
  });
});

describe("refused uploads", () => {
  it("do not close the connection and store nothing, however the bytes are chunked", async () => {
    const form = formOf([{ name: "x", value: "y".repeat(1_048_577) }, dataPart("x".repeat(200_000))]);
    for (const size of [1_000_000, 100_000, 1_048_500, 1_048_700, 1_248_000]) {
      const connection = openRaw(test.port);
      connection.write(headOf(form));
      for (let start = 0; start < form.length; start += size) {
        connection.write(form.subarray(start, start + size));
        await sleep(5);
      }
      const answer = await connection.receive();
      assert.deepEqual([answer?.status, answer?.body?.error], [413, "RequestTooLarge"]);
      connection.write("GET /service/ping HTTP/1.1\r\nHost: a\r\n\r\n");
      assert.equal((await connection.receive())?.body.result, "Pong");
      connection.close();
    }
    const loose = await test.app.database.reads.selectFrom("loose_bytes").selectAll().execute();
    assert.equal(loose.length, 0);
  });
});

describe("failing downloads", () => {
  it("answer in the envelope before the first byte, without the file's headers", async () => {
    const { id } = await upload(test, owner.token, "/blobs", dataPart("bytes", "text/html"));
    await test.app.bytes.deleteAll(`${test.application.appid}/${id}/`);
    await assert.rejects(test.app.bytes.read(`${test.application.appid}/${id}/original`), BytesMissing);
    const { status, headers, bytes } = await download(test, `/blobs/${id}/file`, { token: owner.token });
    const { error, success } = JSON.parse(bytes.toString());
    assert.deepEqual([status, error, success], [500, "InternalError", false]);
    assert.equal(headers.get("content-type"), "application/json");
    for (const name of ["etag", "content-disposition"]) assert.equal(headers.get(name), null);
  });

  it("close the connection in the middle of the file, so that no client accepts a truncated one", async () => {
    const { id } = await upload(test, owner.token, "/blobs", dataPart("x".repeat(1_000)));
    const { read } = test.app.bytes;
    test.app.bytes.read = async () =>
      Readable.from(
        (async function* () {
          yield Buffer.from("x".repeat(10));
          await sleep(50);
          throw new Error("the disk is gone");
        })(),
      );
    const socket = connect(test.port, "127.0.0.1");
    socket.write(`GET /blobs/${id}/file HTTP/1.1\r\nHost: a\r\nAuthorization: Service ${owner.token}\r\n\r\n`);
    socket.on("error", () => {}); // a reset also closes the connection
    const closed = once(socket, "close");
    const received = await text(socket).catch(() => "");
    await closed;
    assert.ok(!received.includes("x".repeat(11)));
    test.app.bytes.read = read;
  });
});

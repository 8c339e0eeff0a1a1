import { createHash } from "node:crypto";
import type { FormPart } from "../../testkit/forms.ts";
import { group } from "../check.ts";
import { further } from "../errors.ts";
import { expectEqual, expectError, expectExactly, expectResult, expectThat } from "../expect.ts";
import { data, pixel, postForm } from "../uploads.ts";
import { otherUser, sharedUser, type World } from "../world.ts";

const text = "the bytes of a file";

async function post(world: World, collection: string, parts: readonly FormPart[]) {
  const { token } = await sharedUser(world);
  return postForm(world, `/${collection}`, token, parts);
}

async function read(world: World, path: string, headers: Record<string, string> = {}) {
  return world.call(`GET ${path}`, { by: sharedUser, headers });
}

/** Files (spec/files). */
export const files = group("files", (it) => {
  for (const collection of ["blobs", "videos"])
    it(`spec/files#upload-forms · POST /${collection}: 201 with the length, the hash and a signedUrl`, async (world) => {
      const answer = await post(world, collection, [data(text), { name: "tag", value: "a tag" }]);
      const { contentLength, contentHash, contentType, tag, signedUrl, id } = expectResult(answer, 201);
      const hash = createHash("sha256").update(text).digest("hex");
      const found = { contentLength, contentHash, contentType, tag };
      expectEqual(answer, "result", found, {
        contentLength: text.length,
        contentHash: hash,
        contentType: "text/plain",
        tag: "a tag",
      });
      expectThat(answer, String(signedUrl).split("?")[0]?.endsWith(`/${collection}/${id}/file`) === true, "its path");
    });
  it("spec/files#download · GET /blobs/{id}/file: the same bytes, with the stored type and nosniff", async (world) => {
    const { id } = expectResult(await post(world, "blobs", [data(text)]), 201);
    const answer = await read(world, `/blobs/${id}/file`);
    expectEqual(answer, "the bytes", [answer.status, answer.text], [200, text]);
    expectEqual(answer, "content-type", answer.headers["content-type"], "text/plain");
    expectEqual(answer, "nosniff", answer.headers["x-content-type-options"], "nosniff");
  });
  it("spec/files#download · GET /blobs/{id}/file: a range, and 416 ParameterOutOfRange outside", async (world) => {
    const { id } = expectResult(await post(world, "blobs", [data(text)]), 201);
    const answer = await read(world, `/blobs/${id}/file`, { range: "bytes=4-8" });
    expectEqual(answer, "the bytes", [answer.status, answer.text], [206, "bytes"]);
    const outside = await read(world, `/blobs/${id}/file`, { range: "bytes=100-" });
    expectError(outside, { ...further.outOfRange, status: 416 });
  });
  it("spec/files#download · GET /blobs/{id}/file: If-None-Match with the ETag answers 304", async (world) => {
    const { id } = expectResult(await post(world, "blobs", [data(text)]), 201);
    const first = await read(world, `/blobs/${id}/file`);
    const answer = await read(world, `/blobs/${id}/file`, { "if-none-match": String(first.headers.etag) });
    expectEqual(answer, "status", answer.status, 304);
  });
  it("spec/files#browser-safety · GET /blobs/{id}/file: HTML is an attachment (hostile.md 24)", async (world) => {
    const { id } = expectResult(await post(world, "blobs", [data("<script>", "text/html")]), 201);
    const answer = await read(world, `/blobs/${id}/file`);
    expectThat(answer, /^attachment/.test(String(answer.headers["content-disposition"])), "an attachment");
  });
  it("spec/files#upload-forms · POST /blobs: the part body is a JSON object, in any order, with any name", async (world) => {
    const body = {
      name: "body",
      value: '{"friendlyName":"A friend"}',
      fileName: "b",
      contentType: "a/b",
    };
    for (const parts of [
      [data(text), body],
      [body, data(text)],
    ]) {
      const answer = await post(world, "blobs", parts);
      expectEqual(answer, "friendlyName", expectResult(answer, 201).friendlyName, "A friend");
    }
  });
  it("spec/files#content-types · POST /pictures: type and size are read from the bytes", async (world) => {
    const answer = await post(world, "pictures", [data(pixel, "image/jpg")]);
    const { contentType, size } = expectResult(answer, 201);
    expectEqual(answer, "result", { contentType, size }, { contentType: "image/png", size: { w: 1, h: 1 } });
  });
  for (const content of ["<html></html>", "<svg xmlns='http://www.w3.org/2000/svg'/>", "text"])
    it(`spec/files#valid-pictures · POST /pictures: FileUploadFailed for ${content}`, async (world) => {
      expectError(await post(world, "pictures", [data(content, "image/png")]), further.uploadFailed);
    });
  it("spec/files#failed-uploads · POST /blobs: FileUploadFailed for an empty file and without a file", async (world) => {
    expectError(await post(world, "blobs", [data("")]), further.uploadFailed);
    expectError(await post(world, "blobs", [{ name: "tag", value: "x" }]), further.uploadFailed);
  });
  it("spec/search#permissions · a private file does not exist for other users", async (world) => {
    const { id } = expectResult(await post(world, "blobs", [data(text)]), 201);
    for (const path of [`/blobs/${id}`, `/blobs/${id}/file`]) {
      expectError(await world.call(`GET ${path}`, { by: otherUser }), further.itemDoesNotExist);
    }
  });
  it("spec/files#file-operations · DELETE /blobs/{id}: true, and then neither the object nor its bytes exist", async (world) => {
    const { id } = expectResult(await post(world, "blobs", [data(text)]), 201);
    expectExactly(await world.call(`DELETE /blobs/${id}`, { by: sharedUser }), true);
    for (const path of [`/blobs/${id}`, `/blobs/${id}/file`]) {
      expectError(await read(world, path), further.itemDoesNotExist);
    }
  });
});

import { createHash } from "node:crypto";
import { metadataOf } from "../../testkit/forms.ts";
import { group } from "../check.ts";
import { further } from "../errors.ts";
import { expectEqual, expectError, expectResult, expectThat } from "../expect.ts";
import { otherUser, sharedUser, type World } from "../world.ts";

const text = "the bytes of a file";
const version = { "tus-resumable": "1.0.0" };

async function create(world: World, values: Readonly<Record<string, string>>, length = text.length) {
  const headers = { ...version, "upload-length": `${length}`, "upload-metadata": metadataOf(values) };
  return world.call("POST /files/uploads", { by: sharedUser, headers });
}

/** Starts an upload. @returns its path */
async function begin(world: World, values: Readonly<Record<string, string>> = { kind: "blob" }): Promise<string> {
  const answer = await create(world, values);
  expectEqual(answer, "status", answer.status, 201);
  const id = String(answer.headers.location).split("/").at(-1);
  return `/files/uploads/${id}`;
}

async function send(world: World, path: string, offset: number, body: string, more: Record<string, string> = {}) {
  const type = { "content-type": "application/offset+octet-stream" };
  return world.call(`PATCH ${path}`, {
    by: sharedUser,
    body,
    headers: { ...version, ...type, "upload-offset": `${offset}`, ...more },
  });
}

async function find(world: World, path: string, token?: string) {
  const own = token ?? (await sharedUser(world)).token;
  return world.call(`HEAD ${path}`, { token: own, headers: version });
}

/** Resumable uploads: tus 1.0 (spec/uploads#tus). */
export const uploads = group("uploads", (it) => {
  it("spec/uploads#tus · OPTIONS /files/uploads: tus 1.0, without a token", async (world) => {
    const answer = await world.call("OPTIONS /files/uploads");
    expectThat(answer, String(answer.headers["tus-version"]).split(",").includes("1.0.0"), "Tus-Version with 1.0.0");
    expectThat(answer, Number(answer.headers["tus-max-size"]) > 0, "Tus-Max-Size");
  });
  it("spec/uploads#finished-uploads · an upload in parts creates the same kind of object", async (world) => {
    const path = await begin(world, { kind: "video", title: "A title", filetype: "video/mp4" });
    const first = await send(world, path, 0, text.slice(0, 7));
    expectEqual(first, "answer", [first.status, first.headers["upload-offset"]], [204, "7"]);
    const head = await find(world, path);
    const progress = [head.status, head.headers["upload-offset"], head.headers["upload-length"]];
    expectEqual(head, "the upload's progress", progress, [200, "7", `${text.length}`]);
    const last = await send(world, path, 7, text.slice(7));
    expectEqual(last, "answer", [last.status, last.headers["upload-offset"]], [204, `${text.length}`]);
    const file = `/videos/${path.split("/").at(-1)}`;
    expectEqual(last, "Content-Location", last.headers["content-location"], file);
    const answer = await world.call(`GET ${file}`, { by: sharedUser });
    const { title, contentType, contentHash } = expectResult(answer);
    const hash = createHash("sha256").update(text).digest("hex");
    expectEqual(answer, "result", [title, contentType, contentHash], ["A title", "video/mp4", hash]);
  });
  it("spec/uploads#upload-errors · bytes at a wrong offset: 409, and nothing changes", async (world) => {
    const path = await begin(world);
    expectError(await send(world, path, 3, "x"), { ...further.outOfRange, status: 409 });
    const head = await find(world, path);
    expectEqual(head, "Upload-Offset", head.headers["upload-offset"], "0");
  });
  it("spec/uploads#upload-errors · bytes with a wrong checksum: 460, and they are discarded", async (world) => {
    const path = await begin(world);
    const headers = { "upload-checksum": `sha1 ${createHash("sha1").update("y").digest("base64")}` };
    expectError(await send(world, path, 0, "x", headers), { ...further.uploadFailed, status: 460 });
    const head = await find(world, path);
    expectEqual(head, "Upload-Offset", head.headers["upload-offset"], "0");
  });
  it("spec/uploads#upload-metadata · parameters are checked when an upload starts; another tus version is 412", async (world) => {
    expectError(await create(world, { kind: "video", bitRate: "fast" }), further.incorrectFormat);
    expectError(await create(world, {}), further.missing);
    expectError(await world.call("POST /files/uploads", { by: sharedUser }), { ...further.outOfRange, status: 412 });
  });
  it("spec/transport#missing-objects · a cancelled upload, or one of another user, does not exist", async (world) => {
    const path = await begin(world);
    const other = await otherUser(world);
    const found = await find(world, path, other.token);
    expectEqual(found, "status", found.status, 404);
    const ended = await world.call(`DELETE ${path}`, { by: sharedUser, headers: version });
    expectEqual(ended, "status", ended.status, 204);
    expectError(await send(world, path, 0, "x"), further.itemDoesNotExist);
  });
});

// Runs on one engine: no database takes part.
import assert from "node:assert/strict";
import { existsSync, readdirSync, readFileSync, readlinkSync } from "node:fs";
import { PassThrough, Readable } from "node:stream";
import { afterEach, before, describe, it } from "node:test";
import { asOneCaller, type PicturesOfOneCaller } from "../../test/picture-queue.ts";
import { until } from "../../test/until.ts";
import { png } from "../../test/uploads.ts";
import { createLog } from "../config/log.ts";
import { ApiError, type ErrorCondition } from "../lib/errors.ts";
import { FrameReader, frameHead } from "./decoder-frames.ts";
import { createPictures } from "./pictures.ts";

/** Decoding survives any failure of the decoder process. */

type Limits = Parameters<typeof createPictures>[1];

const isLinux = process.platform === "linux";
const opened: PicturesOfOneCaller[] = [];
let logged: Record<string, unknown>[] = [];
let small: Buffer;
let large: Buffer;
before(async () => {
  small = await png(12, 9);
  large = await png(6_000, 6_000);
});
afterEach(async () => {
  for (const pictures of opened.splice(0)) await pictures.close();
  logged = [];
});

function open(limits?: Limits): PicturesOfOneCaller {
  const log = createLog("info", { write: (line) => void logged.push(JSON.parse(line)) });
  const pictures = asOneCaller(createPictures(log, limits));
  opened.push(pictures);
  return pictures;
}

/** Opens pictures with a decoder process that has started. */
async function openStarted(limits?: Limits): Promise<PicturesOfOneCaller & { readonly decoderPid: number }> {
  const pictures = open(limits);
  assert.equal(pictures.decoderPid, undefined);
  assert.deepEqual(await pictures.readPictureSize(stream(small)), { w: 12, h: 9 });
  assert.ok(pictures.decoderPid !== undefined);
  return pictures as PicturesOfOneCaller & { readonly decoderPid: number }; // as just checked
}

// spec/files#valid-pictures
describe("the decoder process", () => {
  it("starts with the first picture, is reused for the next ones, and exits when idle", async () => {
    const pictures = await openStarted({ idleMs: 300 });
    const first = pictures.decoderPid;
    await pictures.readPictureSize(stream(small));
    assert.equal(pictures.decoderPid, first);
    await until(() => !isAlive(first));
    assert.equal(pictures.decoderPid, undefined);
    assert.deepEqual(await pictures.readPictureSize(stream(small)), { w: 12, h: 9 });
    assert.notEqual(pictures.decoderPid, first);
    assert.deepEqual(logged, []);
  });

  it("loses only the current picture when it is killed, and waiting ones are decoded", async () => {
    const pictures = await openStarted();
    const answers = Promise.allSettled([
      takeLong(pictures),
      pictures.readPictureSize(stream(small)),
      pictures.readPictureSize(stream(small)),
    ]);
    await new Promise((resolve) => setTimeout(resolve, 50));
    process.kill(pictures.decoderPid, "SIGKILL");
    const [hit, ...others] = await answers;
    assertRefusal(hit, "FileUploadFailed");
    for (const other of others) assert.deepEqual(other, { status: "fulfilled", value: { w: 12, h: 9 } });
    assert.equal(logged.length, 1);
    assert.deepEqual(logged[0]?.["signal"], "SIGKILL");
  });

  it("loses nothing when it is killed while idle", async () => {
    const pictures = await openStarted();
    process.kill(pictures.decoderPid, "SIGKILL");
    await until(() => pictures.decoderPid === undefined);
    assert.deepEqual(await pictures.readPictureSize(stream(small)), { w: 12, h: 9 });
  });

  it("is killed when it hangs on a picture, and the picture is refused", { skip: !isLinux }, async () => {
    const pictures = await openStarted({ decodingMs: 5_000 }); // enough for the next picture, at the lowest priority
    const stopped = pictures.decoderPid;
    process.kill(stopped, "SIGSTOP");
    const [hit, next] = await Promise.allSettled([
      pictures.readPictureSize(stream(small)),
      pictures.readPictureSize(stream(small)),
    ]);
    assertRefusal(hit, "FileUploadFailed");
    assert.deepEqual(next, { status: "fulfilled", value: { w: 12, h: 9 } });
    assert.ok(!isAlive(stopped));
  });

  it("is killed when it receives or reads no bytes, without a refusal of the picture", { skip: !isLinux }, async () => {
    const pictures = await openStarted({ arrivalMs: 300 });
    process.kill(pictures.decoderPid, "SIGSTOP");
    const endless = Readable.from(
      (function* () {
        for (let n = 0; n < 60; n += 1) yield Buffer.alloc(1_000_000);
      })(),
    );
    const silent = new PassThrough();
    const [stuck, starved, next] = await Promise.allSettled([
      pictures.readPictureSize(endless),
      pictures.readPictureSize(silent),
      pictures.readPictureSize(stream(small)),
    ]);
    assertRefusal(stuck, "ServiceUnavailable");
    assertRefusal(starved, "ServiceUnavailable");
    assert.deepEqual(next, { status: "fulfilled", value: { w: 12, h: 9 } });
    assert.ok(endless.destroyed && silent.destroyed);
  });

  it("exits when the server closes, and its current job and the queue are refused", async () => {
    const pictures = await openStarted();
    const { decoderPid } = pictures;
    const under = Promise.allSettled([takeLong(pictures), pictures.readPictureSize(stream(small))]);
    await pictures.close();
    assert.ok(!isAlive(decoderPid));
    const late = Promise.allSettled([pictures.readPictureSize(stream(small))]);
    for (const answer of [...(await under), ...(await late)]) assertRefusal(answer, "ServiceUnavailable");
    assert.equal(pictures.decoderPid, undefined);
    assert.deepEqual(logged, []);
  });

  it("inherits nothing from the server: no settings, no secrets, no open files", { skip: !isLinux }, async () => {
    process.env["AWS_SECRET_ACCESS_KEY"] = "a secret of the server";
    const { decoderPid } = await openStarted();
    delete process.env["AWS_SECRET_ACCESS_KEY"];
    const names = readFileSync(`/proc/${decoderPid}/environ`, "utf8")
      .split("\0")
      .map((each) => each.split("=")[0] ?? "");
    const allowed = ["LD_LIBRARY_PATH", "UV_THREADPOOL_SIZE", "MALLOC_ARENA_MAX", ""];
    assert.deepEqual(
      names.filter((name) => !allowed.includes(name)),
      [],
    );
    const folder = `/proc/${decoderPid}/fd`;
    const files = readdirSync(folder).map((fd) => readlinkSync(`${folder}/${fd}`));
    assert.deepEqual(
      files.filter((file) => file.startsWith("/") && !file.startsWith("/dev/")),
      [],
    );
  });

  it("has the lowest priority, and is killed first when memory runs out", { skip: !isLinux }, async () => {
    const { decoderPid } = await openStarted();
    for (const thread of readdirSync(`/proc/${decoderPid}/task`)) {
      const [, rest = ""] = readFileSync(`/proc/${decoderPid}/task/${thread}/stat`, "utf8").split(") ");
      assert.equal(rest.split(" ")[16], "19");
    }
    assert.equal(readFileSync(`/proc/${decoderPid}/oom_score_adj`, "utf8"), "1000\n");
  });

  it("ignores signals that are meant for the server", { skip: process.platform === "win32" }, async () => {
    const pictures = await openStarted();
    const first = pictures.decoderPid;
    for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.kill(first, signal);
    assert.deepEqual(await pictures.readPictureSize(stream(small)), { w: 12, h: 9 });
    assert.equal(pictures.decoderPid, first);
  });

  it("decodes three hundred pictures in a row, damaged ones among them", async () => {
    const pictures = await openStarted();
    const first = pictures.decoderPid;
    for (let n = 0; n < 300; n += 1) {
      const answer = pictures.readPictureSize(stream(n % 3 === 0 ? small.subarray(0, 40) : small));
      if (n % 3 === 0) await assert.rejects(answer, ApiError);
      else assert.deepEqual(await answer, { w: 12, h: 9 });
    }
    assert.equal(pictures.decoderPid, first);
  });
});

describe("frames of the decoder's protocol", () => {
  it("are reassembled from any chunks, including empty frames", () => {
    const frames = ["one", "", "", "twenty-two", "x".repeat(300), ""].map((text) => Buffer.from(text));
    const bytes = Buffer.concat(frames.flatMap((frame) => [frameHead(frame.length), frame]));
    for (let size = 1; size <= bytes.length; size += 1) {
      const reader = new FrameReader(300);
      const read: Buffer[] = [];
      for (let at = 0; at < bytes.length; at += size) read.push(...reader.read(bytes.subarray(at, at + size)));
      assert.deepEqual(read, frames, `in chunks of ${size}`);
    }
  });

  it("are refused when they exceed the maximum length", () => {
    assert.throws(() => [...new FrameReader(300).read(frameHead(301))], RangeError);
  });
});

/** Takes about a second. */
function takeLong(pictures: PicturesOfOneCaller): Promise<unknown> {
  return pictures.scalePicture(stream(large), "image/png", { w: 5_999, h: 5_999 });
}

function stream(bytes: Buffer): Readable {
  return Readable.from([bytes]);
}

function assertRefusal(answer: PromiseSettledResult<unknown> | undefined, condition: ErrorCondition): void {
  assert.ok(answer?.status === "rejected" && answer.reason instanceof ApiError);
  assert.equal(answer.reason.condition, condition);
}

function isAlive(pid: number): boolean {
  if (isLinux) return existsSync(`/proc/${pid}`);
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

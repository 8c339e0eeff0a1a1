import { writeFileSync } from "node:fs";
import { ApiError } from "../lib/errors.ts";
import { nameSourcesInStacks } from "../lib/source-positions.ts";
import { lowerThreads } from "../lib/thread-priority.ts";
import { FrameReader, frameHead } from "./decoder-frames.ts";
import { loadDecoder } from "./picture-decoder.ts";
import { decoderPriority, madeBytesMax, type PictureAnswer, type PictureJob, pictureBytesMax } from "./picture-job.ts";
import { doPictureJob } from "./picture-work.ts";

/**
 * The process that decodes pictures (started by decoder-child.ts). It has no settings, secrets or database, and it
 * exits when the server closes its input or dies, even while it decodes a picture.
 */

nameSourcesInStacks();
process.stdin.on("end", end).on("error", end);
process.stdout.on("error", end);
// A terminal sends these signals to this process too, while the server may have pictures to finish.
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, () => {});
volunteerForOutOfMemory();

await loadDecoder();
lowerThreads(decoderPriority);
process.stdout.write(frameHead(0));

/** Processor time, not wall-clock time: at the lowest priority a picture may wait long for the processor. */
const decodingMsMax = 20_000;
/** Far more than the largest picture needs: a damaged one can make a decoder allocate ever larger buffers. */
const memoryMax = 1_500_000_000;
const watchMs = 100;

const frames = new FrameReader(pictureBytesMax);
let job: PictureJob | undefined;
let parts: Buffer[] = [];
process.stdin.on("data", (chunk) => {
  for (const frame of frames.read(Buffer.from(chunk))) receive(frame);
});

function receive(frame: Buffer): void {
  if (job === undefined) {
    job = JSON.parse(frame.toString()) as PictureJob; // from our own server
  } else if (frame.length > 0) {
    parts.push(frame);
  } else {
    const picture = Buffer.concat(parts);
    parts = [];
    answer(job, picture);
    job = undefined;
  }
}

async function answer(of: PictureJob, picture: Buffer): Promise<void> {
  const from = process.cpuUsage();
  const watch = setInterval(() => {
    const { user, system } = process.cpuUsage(from);
    if (user + system > decodingMsMax * 1_000 || process.memoryUsage.rss() > memoryMax) end();
  }, watchMs);
  try {
    const { bytes, ...head } = await doPictureJob(of, picture);
    if (bytes.length > madeBytesMax) send({ refusal: "The picture has too many bytes." });
    else send(head, bytes);
  } catch (error) {
    const refusal = error instanceof ApiError ? error.message : undefined;
    // Errors of the library are attributed to the picture.
    send({ refusal: refusal ?? "The picture is damaged or too large." });
  } finally {
    clearInterval(watch);
  }
}

function send(head: PictureAnswer, bytes: Buffer = Buffer.alloc(0)): void {
  const text = Buffer.from(JSON.stringify(head));
  for (const frame of [text, bytes]) {
    process.stdout.write(frameHead(frame.length));
    process.stdout.write(frame);
  }
}

/** Exits immediately: a regular exit would wait for the threads of the library. */
function end(): void {
  process.kill(process.pid, "SIGKILL");
}

/** Makes Linux kill this process first when memory runs out, instead of the server. */
function volunteerForOutOfMemory(): void {
  try {
    writeFileSync("/proc/self/oom_score_adj", "1000");
  } catch {
    // Only Linux has this file.
  }
}

import assert from "node:assert/strict";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import type { BrowserContext, Page } from "playwright-core";
import type { TestApp } from "../../../server/test/harness.ts";
import { dataPart, png, upload } from "../../../server/test/uploads.ts";

/** What browsers do with files of the service (spec/files#browser-safety). */

export async function playLinks(app: TestApp, context: BrowserContext): Promise<void> {
  const { token } = await app.signUp("playing");
  const page = await context.newPage();
  for (const [type, bytes] of [
    ["video/webm", await recordFilm(page)],
    ["audio/wav", silence(2)],
    ["audio/x-wav", silence(1)],
  ] as const) {
    for (const path of type === "video/webm" ? ["/videos", "/blobs"] : ["/blobs"]) {
      const { signedUrl } = await upload(app, token, path, dataPart(bytes, type));
      await page.goto(signedUrl);
      // HAVE_CURRENT_DATA: a refused file stays at 0.
      await page.waitForFunction(() => (document.querySelector("video")?.readyState ?? 0) >= 2);
    }
  }
}

export async function readTexts(app: TestApp, context: BrowserContext): Promise<void> {
  const { token } = await app.signUp("reading");
  const page = await context.newPage();
  const text = "Привет, grüße ✓";
  for (const [type, bytes] of [
    ["text/plain; charset=UTF-8", Buffer.from(text)],
    ["text/plain;charset=utf-16le", Buffer.from(text, "utf16le")],
  ] as const) {
    const { signedUrl } = await upload(app, token, "/blobs", dataPart(bytes, type, "a.txt"));
    await page.goto(signedUrl);
    assert.equal(await page.evaluate(() => document.body.innerText), text);
  }
}

/** A page that isolates itself may show files, and only those. */
export async function showInIsolation(app: TestApp, context: BrowserContext): Promise<void> {
  const { token } = await app.signUp("isolating");
  const { signedUrl } = await upload(app, token, "/pictures", dataPart(await png(3, 2), "image/png"));
  const server = createServer((_, response) => {
    response.setHeader("cross-origin-embedder-policy", "require-corp");
    response.setHeader("cross-origin-opener-policy", "same-origin");
    response.setHeader("content-type", "text/html");
    response.end("<!doctype html>");
  });
  await new Promise<void>((resolve) => server.listen(0, "localhost", resolve));
  const page = await context.newPage();
  await page.goto(`http://localhost:${(server.address() as AddressInfo).port}/`);
  const shown = await page.evaluate(async (src) => {
    const picture = new Image();
    picture.src = src;
    await picture.decode().catch(() => {});
    return { isIsolated: globalThis.crossOriginIsolated, width: picture.naturalWidth };
  }, signedUrl);
  await page.close();
  server.close();
  assert.deepEqual(shown, { isIsolated: true, width: 3 });
}

/** A film of half a second, as the browser records it. */
async function recordFilm(page: Page): Promise<Buffer> {
  const base64 = await page.evaluate(async () => {
    const canvas = document.createElement("canvas");
    const context = canvas.getContext("2d");
    const recorder = new MediaRecorder(canvas.captureStream(25), { mimeType: "video/webm" });
    const parts: Blob[] = [];
    recorder.ondataavailable = ({ data }) => void parts.push(data);
    const stopped = new Promise((resolve) => {
      recorder.onstop = resolve;
    });
    recorder.start();
    for (let frame = 0; frame < 15; frame += 1) {
      context?.fillRect(frame * 10, 0, 10, 10);
      await new Promise((resolve) => setTimeout(resolve, 40));
    }
    recorder.stop();
    await stopped;
    const bytes = new Uint8Array(await new Blob(parts).arrayBuffer());
    return btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(""));
  });
  return Buffer.from(base64, "base64");
}

/** A sound in WAV: 8,000 samples a second, of 8 bits. */
function silence(seconds: number): Buffer {
  const samples = Buffer.alloc(seconds * 8_000, 128);
  const head = Buffer.alloc(44);
  head.write("RIFF");
  head.writeUInt32LE(36 + samples.length, 4);
  head.write("WAVEfmt ", 8);
  head.writeUInt32LE(16, 16);
  head.writeUInt16LE(1, 20);
  head.writeUInt16LE(1, 22);
  head.writeUInt32LE(8_000, 24);
  head.writeUInt32LE(8_000, 28);
  head.writeUInt16LE(1, 32);
  head.writeUInt16LE(8, 34);
  head.write("data", 36);
  head.writeUInt32LE(samples.length, 40);
  return Buffer.concat([head, samples]);
}

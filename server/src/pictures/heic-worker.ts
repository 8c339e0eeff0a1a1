import { parentPort, workerData } from "node:worker_threads";
import createLibheif from "libheif-js/libheif-wasm/libheif-bundle.mjs";
import { type HeicAnswer, heicPixelsMax } from "./heic.ts";

/**
 * A thread that decodes one HEIC picture. In a thread, because the library blocks, while the process must continue to
 * measure its processor time and memory. It exits after its picture, because WebAssembly never returns memory.
 */

const interleaved = 10; // the number of heif_channel_interleaved and of heif_chroma_interleaved_RGB
const rgb = 1;
const channels = 3;
/** The library's memory for the planes of a picture, and their conversion. */
const memoryMax = 700_000_000n;
const tilesMax = 4_096n;

const bytes: Uint8Array = workerData;
const answer = await decode().catch((error: Error): HeicAnswer => ({ problem: error.message }));
parentPort?.postMessage(answer, "pixels" in answer ? [answer.pixels.buffer] : []);

async function decode(): Promise<HeicAnswer> {
  const lib = await createLibheif();
  const error = lib._malloc(16);
  const out = lib._malloc(8);
  const outAt = () => lib.HEAPU32[out >> 2] ?? 0;
  function requireSuccess(what: string): void {
    const [code = 0, detail = 0] = lib.HEAPU32.subarray(error >> 2, (error >> 2) + 2);
    if (code !== 0) throw new Error(`${what}: error ${code}, ${detail} of libheif`);
  }

  // As in its header heif_security.h: pixels, tiles, …, bytes of one block, …, bytes in total.
  const limits = new BigUint64Array(lib.HEAPU8.buffer, lib._heif_get_global_security_limits(), 9);
  limits[1] = BigInt(heicPixelsMax);
  limits[2] = tilesMax;
  limits[5] = memoryMax;
  limits[8] = memoryMax;

  const context = lib._heif_context_alloc();
  const copied = lib._malloc(bytes.length);
  lib.HEAPU8.set(bytes, copied);
  lib._heif_context_read_from_memory_without_copy(error, context, copied, bytes.length, 0);
  requireSuccess("reading");
  lib._heif_context_get_primary_image_handle(error, context, out);
  requireSuccess("finding the picture");
  const handle = outAt();
  if (lib._heif_image_handle_get_width(handle) * lib._heif_image_handle_get_height(handle) > heicPixelsMax) {
    return { isTooLarge: true };
  }
  const profile = readProfile(handle);
  lib._heif_decode_image(error, handle, out, rgb, interleaved, 0);
  requireSuccess("decoding");
  const image = outAt();
  const [width, height] = [
    lib._heif_image_get_width(image, interleaved),
    lib._heif_image_get_height(image, interleaved),
  ];
  const plane = lib._heif_image_get_plane_readonly(image, interleaved, out);
  const stride = outAt();
  if (plane === 0 || width < 1 || height < 1) throw new Error("the picture has no pixels");
  const pixels = new Uint8Array(width * height * channels);
  for (let y = 0; y < height; y += 1) {
    const from = plane + y * stride;
    pixels.set(lib.HEAPU8.subarray(from, from + width * channels), y * width * channels);
  }
  return { width, height, pixels, profile };

  function readProfile(of: number): Uint8Array | undefined {
    const size = lib._heif_image_handle_get_raw_color_profile_size(of);
    if (size === 0) return undefined;
    const at = lib._malloc(size);
    lib._heif_image_handle_get_raw_color_profile(error, of, at);
    requireSuccess("reading the profile");
    return lib.HEAPU8.slice(at, at + size);
  }
}

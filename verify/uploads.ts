import type { Answer } from "./client.ts";
import type { World } from "./world.ts";

/** A part of a form; `data` is the file. */
export interface Part {
  readonly name: string;
  readonly value: string | Buffer;
  readonly extra?: string;
}

/** A PNG of one pixel. */
export const pixel = Buffer.from(
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==",
  "base64",
);

/** The form part with the file. */
export function data(value: string | Buffer, contentType = "text/plain"): Part {
  return { name: "data", value, extra: `; filename="a.txt"\r\nContent-Type: ${contentType}` };
}

/** Sends a form as multipart/form-data. */
export function postForm(world: World, path: string, token: string, parts: readonly Part[]): Promise<Answer> {
  const headers = { "content-type": `multipart/form-data; boundary=${boundary}` };
  return world.call(`POST ${path}`, { token, body: formOf(parts), headers });
}

const boundary = "verify-boundary";

function formOf(parts: readonly Part[]): Buffer {
  const written = parts.map(({ name, value, extra = "" }) =>
    Buffer.concat([
      Buffer.from(`--${boundary}\r\nContent-Disposition: form-data; name="${name}"${extra}\r\n\r\n`),
      Buffer.from(value),
      Buffer.from("\r\n"),
    ]),
  );
  return Buffer.concat([...written, Buffer.from(`--${boundary}--\r\n`)]);
}

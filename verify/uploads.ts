import { dataPart, type FormPart, formHeaders, formOf } from "../testkit/forms.ts";
import type { Answer } from "./client.ts";
import type { World } from "./world.ts";

/** A PNG of one pixel. */
export const pixel = Buffer.from(
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==",
  "base64",
);

/** The part with the file. */
export function data(value: string | Buffer, contentType = "text/plain"): FormPart {
  return dataPart(value, contentType, "a.txt");
}

/** Sends a form as multipart/form-data. */
export function postForm(world: World, path: string, token: string, parts: readonly FormPart[]): Promise<Answer> {
  return world.call(`POST ${path}`, { token, body: formOf(parts), headers: formHeaders });
}

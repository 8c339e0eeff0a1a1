import assert from "node:assert/strict";
import { crc32, deflateSync } from "node:zlib";

/** Uploads the profile picture of the user with this token: a teal square. */
export async function uploadPicture(url: string, accessToken: string): Promise<{ readonly id: string }> {
  const form = new FormData();
  form.append("data", new File([new Uint8Array(picture)], "me.png", { type: "image/png" }));
  const headers = { Authorization: `Service ${accessToken}` };
  const response = await fetch(`${url}/users/me/profilepicture`, { method: "POST", headers, body: form });
  const answer = await response.json();
  assert.equal(answer.success, true, JSON.stringify(answer));
  return answer.result;
}

export const teal = [0, 128, 128] as const;
/** Larger than the pictures of the console, so that the server scales it. */
const picture = pngOf(teal, 120);

/** A square of one colour. */
function pngOf(color: readonly number[], side: number): Buffer {
  const head = Buffer.alloc(13);
  head.writeUInt32BE(side, 0);
  head.writeUInt32BE(side, 4);
  head.set([8, 2], 8); // eight bits, red, green and blue
  const line = [0, ...Array.from({ length: side }, () => color).flat()];
  const lines = Buffer.from(Array.from({ length: side }, () => line).flat());
  const parts = [partOf("IHDR", head), partOf("IDAT", deflateSync(lines)), partOf("IEND", Buffer.alloc(0))];
  return Buffer.concat([Buffer.from("\x89PNG\r\n\x1a\n", "latin1"), ...parts]);
}

function partOf(name: string, content: Buffer): Buffer {
  const body = Buffer.concat([Buffer.from(name, "latin1"), content]);
  const [length, sum] = [Buffer.alloc(4), Buffer.alloc(4)];
  length.writeUInt32BE(content.length);
  sum.writeUInt32BE(crc32(body));
  return Buffer.concat([length, body, sum]);
}

import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { type IncomingMessage, request } from "node:http";
import { text } from "node:stream/consumers";
import { pipeline } from "node:stream/promises";
import { setTimeout as delay } from "node:timers/promises";
import { aroundFile, formHeaders } from "../testkit/forms.ts";
import { openConnection } from "./load-connection.ts";

/** Files as clients upload them: a form with only the file in it. */

const { before, after } = aroundFile;

/** The whole form, for a file of plain ASCII. */
export function formOfFile(file: string): string {
  return before + file + after;
}

/** The destination of an upload. */
export interface Destination {
  readonly port: number;
  /** The path of the collection. */
  readonly path: string;
  readonly token: string;
}

/** @returns the id of the new file @throws when the upload is refused */
export async function upload(
  { port, path, token }: Destination,
  bytes: Iterable<Uint8Array> | AsyncIterable<Uint8Array>,
  length: number,
): Promise<string> {
  const sending = request({
    ...{ host: "127.0.0.1", port, path, method: "POST", agent: false },
    headers: {
      authorization: `Service ${token}`,
      ...formHeaders,
      "content-length": before.length + length + after.length,
    },
  });
  async function* form(): AsyncGenerator<Uint8Array> {
    yield Buffer.from(before);
    yield* bytes;
    yield Buffer.from(after);
  }
  const answered = once(sending, "response") as Promise<[IncomingMessage]>; // its only argument
  const [[answer]] = await Promise.all([answered, pipeline(form, sending)]);
  const body = await text(answer);
  if (answer.statusCode !== 201) throw new Error(`POST ${path}: ${answer.statusCode} ${body}`);
  return JSON.parse(body).result.id;
}

/** Reads a file to its end. @throws when the download is refused */
export async function download(port: number, path: string, token: string): Promise<void> {
  const connection = await openConnection(port);
  const request = `GET ${path} HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Service ${token}\r\n\r\n`;
  const { status, excerpt } = await connection.send(request);
  connection.close();
  if (status !== 200) throw new Error(`GET ${path}: ${status} ${excerpt}`);
}

const chunk = randomBytes(262_144);

/** Bytes that cannot be compressed. */
export function* randomFile(length: number, chunkBytes = chunk.length): Generator<Uint8Array> {
  for (let left = length; left > 0; left -= chunkBytes) yield chunk.subarray(0, Math.min(left, chunkBytes));
}

/** Uploads a file over a slow connection. */
export async function* slowFile(length: number, chunkBytes: number, seconds: number): AsyncGenerator<Uint8Array> {
  const pauseMs = (seconds * 1000 * chunkBytes) / length;
  for (const each of randomFile(length, chunkBytes)) {
    await delay(pauseMs);
    yield each;
  }
}

/**
 * The ceiling of files: a bare `node:http` server that streams one file to every reader, and each upload into a new,
 * synced file. A worker that answers with its port.
 */
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { createReadStream, createWriteStream, statSync } from "node:fs";
import { unlink } from "node:fs/promises";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import path from "node:path";
import { pipeline } from "node:stream/promises";
import { answerRequests, readSetting } from "../testkit/worker.ts";

const { file, folder } = readSetting<{ file: string; folder: string }>();
const answer = JSON.stringify({ result: { id: "nothing" } });
const headers = { "Content-Type": "application/octet-stream", "Content-Length": statSync(file).size };

const server = createServer((request, response) => {
  if (request.method === "POST") void keep(request, response);
  else createReadStream(file).pipe(response.writeHead(200, headers));
});

async function keep(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const target = path.join(folder, randomUUID());
  await pipeline(request, createWriteStream(target, { flush: true }));
  response.writeHead(201, { "Content-Length": answer.length }).end(answer);
  await unlink(target);
}

server.listen(0, "127.0.0.1");
await once(server, "listening");
const address = server.address();

answerRequests(async () => (typeof address === "object" && address !== null ? address.port : 0));

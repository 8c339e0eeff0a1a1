/**
 * The ceiling of reads: a bare `node:http` server that answers every request with one fixed body. A worker that answers
 * with its port.
 */
import { once } from "node:events";
import { createServer } from "node:http";
import { answerRequests, readSetting } from "../testkit/worker.ts";

const { body, contentType } = readSetting<{ body: string; contentType: string }>();
const headers = { "Content-Type": contentType, "Content-Length": Buffer.byteLength(body) };

const server = createServer((_request, response) => response.writeHead(200, headers).end(body));
server.listen(0, "127.0.0.1");
await once(server, "listening");
const address = server.address();

answerRequests(async () => (typeof address === "object" && address !== null ? address.port : 0));

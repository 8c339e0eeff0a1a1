import { Readable } from "node:stream";
import { FileResult } from "../contract/file-result.ts";
import { jsonContentType, type Rehearsed, type Reply, replyBody } from "../operations/envelope.ts";
import type { Exchange } from "./exchange.ts";

/** A page such as captive portals and company proxies send in place of the response. */
const proxyPage = `<!doctype html>
<html><head><title>Welcome</title></head><body><h1>Sign in to use this network</h1></body></html>
`;

/** Answers as a broken connection or a captive portal would (spec/rehearsal#rehearse-a-fault). */
export async function sendFault(
  exchange: Exchange,
  reply: Reply,
  fault: NonNullable<Rehearsed["fault"]>,
): Promise<void> {
  const { response } = exchange;
  if (fault === "html") {
    exchange.setHeaders({ "content-type": "text/html; charset=utf-8", "cache-control": "no-store" });
    exchange.send(200, proxyPage);
    return;
  }
  response.statusCode = reply.status; // for the log
  if (fault === "truncated") await sendHalf(exchange, reply);
  response.destroy();
}

/** Sends the head of the complete response, and half of the body. */
async function sendHalf(exchange: Exchange, reply: Reply): Promise<void> {
  const { response } = exchange;
  const { contentType, contentLength, half } = await halfOf(exchange, reply);
  exchange.setHeaders({ "content-type": contentType, "cache-control": "no-store" });
  if (contentLength !== undefined) exchange.setHeader("content-length", contentLength);
  exchange.writeHead(reply.status);
  for await (const bytes of half) {
    if (response.destroyed) return;
    await new Promise<void>((resolve) => response.write(bytes, () => resolve()));
  }
}

async function halfOf({ id }: Exchange, reply: Reply) {
  const { file } = reply;
  if (file === undefined) {
    const body = Buffer.from(replyBody(reply, id));
    const half = Readable.from([body.subarray(0, body.length / 2)]);
    return { contentType: jsonContentType, contentLength: body.length, half };
  }
  if (!(file instanceof FileResult)) return { contentType: file.contentType, half: Readable.from([]) };
  const { contentType, contentLength } = file;
  const half = await file.open({ start: 0, end: Math.floor(contentLength / 2) });
  return { contentType, contentLength, half };
}

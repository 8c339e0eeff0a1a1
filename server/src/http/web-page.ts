import { createHash } from "node:crypto";
import { promisify } from "node:util";
import { brotliDecompress, gzip } from "node:zlib";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";

/** A page under `/_/` for people or tools, in its own format instead of the envelope. */
export interface Page {
  readonly path: string;
  readonly contentType: string;
  /** Called for the first request; the content is cached. */
  load(): string | Buffer;
  /** True when `load` returns content that is compressed with Brotli. */
  readonly isBrotli?: boolean;
  /** The request headers that the response depends on, in addition to Accept-Encoding. */
  readonly vary?: string;
}

// Pages may load resources from this server only.
const contentSecurityPolicy =
  "default-src 'self'; img-src 'self' data:; style-src 'self' 'unsafe-inline'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'";

/** Compressing smaller content does not save a packet. */
const compressedBytesMin = 1_024;

type Encoding = "br" | "gzip" | "identity";

export function mountPage(server: FastifyInstance, page: Page): void {
  const send = pageSender(page);
  server.get(page.path, { exposeHeadRoute: true }, send);
}

/** Sends the page in an encoding that the client accepts, or 304 when the client has it. */
export function pageSender(page: Page): (request: FastifyRequest, reply: FastifyReply) => Promise<FastifyReply> {
  const representations = new Map<Encoding, Promise<Buffer>>();
  let loaded: Buffer | undefined;
  let digest = "";

  function load(): Buffer {
    if (loaded === undefined) {
      loaded = Buffer.from(page.load());
      digest = createHash("sha256").update(loaded).digest("base64url").slice(0, 22);
    }
    return loaded;
  }

  async function encode(encoding: Encoding): Promise<Buffer> {
    const content = load();
    if (page.isBrotli) {
      if (encoding === "br") return content;
      const plain = await promisify(brotliDecompress)(content);
      return encoding === "gzip" ? promisify(gzip)(plain) : plain;
    }
    return encoding === "gzip" ? promisify(gzip)(content) : content;
  }

  return async (request, reply) => {
    const content = load();
    const isCompressible = page.isBrotli === true || content.length >= compressedBytesMin;
    const offered: readonly Encoding[] = page.isBrotli ? ["br", "gzip"] : ["gzip"];
    const accepted = isCompressible ? readAccept(request.headers["accept-encoding"]) : [];
    const encoding = offered.find((each) => qualityOf(each, accepted) > 0) ?? "identity";
    const etag = `"${digest}-${encoding}"`;
    reply
      .header("content-security-policy", contentSecurityPolicy)
      .header("cross-origin-opener-policy", "same-origin")
      .header("cross-origin-resource-policy", "same-origin")
      .header("referrer-policy", "no-referrer")
      .header("cache-control", "no-cache")
      .header("vary", page.vary ?? "Accept-Encoding")
      .header("etag", etag);
    if (namesTag(request.headers["if-none-match"], etag)) return reply.code(304).send();
    reply.header("content-type", page.contentType);
    if (encoding !== "identity") reply.header("content-encoding", encoding);
    let representation = representations.get(encoding);
    if (representation === undefined) {
      representation = encode(encoding);
      representations.set(encoding, representation);
      representation.catch(() => representations.delete(encoding));
    }
    return reply.send(await representation);
  };
}

/** Whether the client prefers HTML to JSON. */
export function prefersHtml(accept: string | undefined): boolean {
  const accepted = readAccept(accept);
  const isNamed = accepted.some(({ name }) => name === "text/html");
  return isNamed && qualityOf("text/html", accepted) > qualityOf("application/json", accepted);
}

type Accepted = readonly { readonly name: string; readonly quality: number }[];

/** Parses the names and qualities of an Accept or Accept-Encoding header. */
function readAccept(header: string | undefined): Accepted {
  return (header ?? "").split(",").map((part) => {
    const [name = "", ...parameters] = part.split(";").map((each) => each.trim().toLowerCase());
    const quality = parameters.find((each) => each.startsWith("q="))?.slice(2) ?? "1";
    return { name, quality: Number(quality) || 0 };
  });
}

/** The quality from the most specific match. */
function qualityOf(name: string, accepted: Accepted): number {
  const [type] = name.split("/");
  for (const pattern of [name, `${type}/*`, "*/*", "*"]) {
    const found = accepted.find((each) => each.name === pattern);
    if (found !== undefined) return found.quality;
  }
  return 0;
}

function namesTag(ifNoneMatch: string | undefined, etag: string): boolean {
  const tags = (ifNoneMatch ?? "").split(",").map((tag) => tag.trim().replace(/^W\//, ""));
  return tags.includes(etag) || tags.includes("*");
}

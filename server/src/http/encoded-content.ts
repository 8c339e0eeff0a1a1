import { createHash } from "node:crypto";
import { promisify } from "node:util";
import { nodeZlib } from "../lib/builtins.ts";

type Encoding = "br" | "gzip" | "identity";

/**
 * Content in the encodings that clients accept. Each is compressed at the first request for it, off the main thread,
 * and cached.
 */
export interface EncodedContent {
  /** Returns the encoding for a client, and the entity tag of the encoded content. */
  choose(acceptEncoding: string | undefined): { readonly encoding: Encoding; readonly etag: string };
  encoded(encoding: Encoding): Promise<Buffer>;
}

/** Compressing smaller content does not save a packet. */
const compressedBytesMin = 1_024;

/** @param isBrotli whether `content` is already compressed with Brotli */
export function createEncodedContent(content: Buffer, isBrotli: boolean): EncodedContent {
  const encodings = new Map<Encoding, Promise<Buffer>>();
  const digest = createHash("sha256").update(content).digest("base64url").slice(0, 22);
  const offered: readonly Encoding[] = isBrotli ? ["br", "gzip"] : ["gzip"];
  const isCompressible = isBrotli || content.length >= compressedBytesMin;

  async function encode(encoding: Encoding): Promise<Buffer> {
    if (isBrotli && encoding === "br") return content;
    const plain = isBrotli ? await promisify(nodeZlib().brotliDecompress)(content) : content;
    return encoding === "gzip" ? promisify(nodeZlib().gzip)(plain) : plain;
  }

  return {
    choose(acceptEncoding) {
      const accepted = isCompressible ? readAccept(acceptEncoding) : [];
      const encoding = offered.find((each) => qualityOf(each, accepted) > 0) ?? "identity";
      return { encoding, etag: `"${digest}-${encoding}"` };
    },
    encoded(encoding) {
      let made = encodings.get(encoding);
      if (made === undefined) {
        made = encode(encoding);
        encodings.set(encoding, made);
        made.catch(() => encodings.delete(encoding));
      }
      return made;
    },
  };
}

/** Whether `If-None-Match` contains this entity tag. */
export function namesTag(ifNoneMatch: string | undefined, etag: string): boolean {
  const tags = (ifNoneMatch ?? "").split(",").map((tag) => tag.trim().replace(/^W\//, ""));
  return tags.includes(etag) || tags.includes("*");
}

/** The names and qualities of an Accept or Accept-Encoding header. */
type Accepted = readonly { readonly name: string; readonly quality: number }[];

function readAccept(header: string | undefined): Accepted {
  return (header ?? "").split(",").map((part) => {
    const [name = "", ...parameters] = part.split(";").map((each) => each.trim().toLowerCase());
    const quality = parameters.find((each) => each.startsWith("q="))?.slice(2) ?? "1";
    return { name, quality: Number(quality) || 0 };
  });
}

/** Returns the quality of the most specific match. */
function qualityOf(name: string, accepted: Accepted): number {
  const [type] = name.split("/");
  for (const pattern of [name, `${type}/*`, "*/*", "*"]) {
    const found = accepted.find((each) => each.name === pattern);
    if (found !== undefined) return found.quality;
  }
  return 0;
}

/** Whether the client prefers HTML to JSON. */
export function prefersHtml(accept: string | undefined): boolean {
  const accepted = readAccept(accept);
  const isNamed = accepted.some(({ name }) => name === "text/html");
  return isNamed && qualityOf("text/html", accepted) > qualityOf("application/json", accepted);
}

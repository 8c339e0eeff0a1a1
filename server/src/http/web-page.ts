import { createHash } from "node:crypto";
import { promisify } from "node:util";
import { brotliDecompress, gzip } from "node:zlib";
import type { Exchange } from "./exchange.ts";
import type { RouteTable } from "./route-table.ts";

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

export function mountPage(routes: RouteTable, page: Page): void {
  routes.add(["GET", "HEAD"], page.path, { answer: pageSender(page) });
}

/** Sends the page in an encoding that the client accepts, or 304 when the client has it. */
export function pageSender(page: Page): (exchange: Exchange) => Promise<void> {
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

  return async (exchange) => {
    const content = load();
    const isCompressible = page.isBrotli === true || content.length >= compressedBytesMin;
    const offered: readonly Encoding[] = page.isBrotli ? ["br", "gzip"] : ["gzip"];
    const accepted = isCompressible ? readAccept(exchange.headers["accept-encoding"]) : [];
    const encoding = offered.find((each) => qualityOf(each, accepted) > 0) ?? "identity";
    const etag = `"${digest}-${encoding}"`;
    exchange.setHeaders({
      "content-security-policy": contentSecurityPolicy,
      "cross-origin-opener-policy": "same-origin",
      "cross-origin-resource-policy": "same-origin",
      "referrer-policy": "no-referrer",
      "cache-control": "no-cache",
      vary: page.vary ?? "Accept-Encoding",
      etag,
    });
    if (namesTag(exchange.headers["if-none-match"], etag)) {
      exchange.send(304);
      return;
    }
    exchange.setHeader("content-type", page.contentType);
    if (encoding !== "identity") exchange.setHeader("content-encoding", encoding);
    let representation = representations.get(encoding);
    if (representation === undefined) {
      representation = encode(encoding);
      representations.set(encoding, representation);
      representation.catch(() => representations.delete(encoding));
    }
    exchange.send(200, await representation);
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

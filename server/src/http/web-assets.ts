import { randomBytes } from "node:crypto";
import { readFile, stat } from "node:fs/promises";
import { extname, join } from "node:path";
import { ApiError } from "../lib/errors.ts";
import { createEncodedContent, type EncodedContent, namesTag } from "./encoded-content.ts";
import type { Exchange } from "./exchange.ts";
import type { Peers } from "./peer.ts";
import { pathOf } from "./request-log.ts";
import type { RouteTable } from "./route-table.ts";

/**
 * A built web application: `index.html`, with the placeholders `__CSP_NONCE__` in its attributes `nonce` and
 * `__TRANSPORT__`, and every other file compressed with Brotli as `<name>.br`.
 */
export interface WebAssets {
  /** The path at which it is served, without a trailing slash. */
  readonly path: string;
  /** Called at the first request. */
  findFolder(): string;
  /** Returns the page that is sent with status 503 while the folder has no `index.html`. */
  waitingPage(nonce: string): string;
}

/**
 * Serves a built web application (spec/console#pages). Reads no file before the first request. Reads `index.html` again
 * when it has changed, so that a build can replace it while the server runs.
 *
 * @param isSecure whether the client used TLS, to this server or to a trusted proxy
 */
export function mountWebAssets(routes: RouteTable, assets: WebAssets, isSecure: Peers["isSecure"]): void {
  let folder: string | undefined;
  const inFolder = (name: string) => {
    folder ??= assets.findFolder();
    return join(folder, name);
  };
  const sendPage = pageSender(inFolder, assets.waitingPage, isSecure);
  const sendFile = fileSender(inFolder);
  const answer = (exchange: Exchange): void | Promise<void> => {
    const name = exchange.path["*"] ?? "";
    exchange.removeHeader("access-control-allow-origin");
    exchange.removeHeader("access-control-expose-headers");
    exchange.setHeaders(isolationHeaders);
    if (name !== "") return sendFile(exchange, name);
    if (pathOf(exchange.url).endsWith("/")) return sendPage(exchange);
    // Relative URLs of the page need the slash.
    exchange.setHeader("location", `${assets.path.slice(assets.path.lastIndexOf("/") + 1)}/`);
    exchange.send(308);
  };
  for (const path of [assets.path, `${assets.path}/*`]) {
    routes.add(["GET", "HEAD"], path, { isForOperators: true, answer });
  }
}

/** Headers of every response. `policyOf` replaces the policy for the page. */
const isolationHeaders = {
  "content-security-policy": "default-src 'none'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'",
  "x-frame-options": "DENY",
  "cross-origin-opener-policy": "same-origin",
  "cross-origin-resource-policy": "same-origin",
  "referrer-policy": "no-referrer",
  // Disables all features of browsers, except for writing to the clipboard, into which the page copies ids.
  "permissions-policy": [
    ...["accelerometer", "autoplay", "camera", "clipboard-read", "display-capture", "encrypted-media"],
    ...["fullscreen", "geolocation", "gyroscope", "hid", "idle-detection", "local-fonts", "magnetometer"],
    ...["microphone", "midi", "payment", "picture-in-picture", "publickey-credentials-get", "screen-wake-lock"],
    ...["serial", "usb", "window-management", "xr-spatial-tracking"],
  ]
    .map((feature) => `${feature}=()`)
    .join(", "),
};

/**
 * Returns the policy of the page, whose scripts and styles have the nonce. `'self'` must not allow scripts, because
 * this origin also serves uploads of users, even with the type `text/javascript`.
 */
function policyOf(nonce: string): string {
  return [
    "default-src 'none'",
    `script-src 'nonce-${nonce}' 'strict-dynamic'`,
    `style-src 'self' 'nonce-${nonce}'`,
    "img-src 'self' data: blob:",
    ...["media-src", "connect-src", "worker-src", "font-src", "manifest-src"].map((each) => `${each} 'self'`),
    ...["frame-ancestors", "base-uri", "form-action"].map((each) => `${each} 'none'`),
    "require-trusted-types-for 'script'",
    "trusted-types default",
  ].join("; ");
}

type InFolder = (name: string) => string;

function pageSender(
  inFolder: InFolder,
  waitingPage: WebAssets["waitingPage"],
  isSecure: Peers["isSecure"],
): (exchange: Exchange) => Promise<void> {
  let loaded: { readonly text: string; readonly version: string } | undefined;

  /** @returns undefined if the application has not been built */
  async function load(): Promise<string | undefined> {
    const file = inFolder("index.html");
    const found = await unlessMissing(stat(file));
    if (found === undefined) return loaded?.text; // a build is replacing it
    const version = `${found.mtimeMs} ${found.size} ${found.ino}`;
    if (loaded?.version !== version) {
      const text = await unlessMissing(readFile(file, "utf8"));
      if (text !== undefined) loaded = { text, version };
    }
    return loaded?.text;
  }

  return async (exchange) => {
    const nonce = randomBytes(16).toString("base64");
    const page = await load();
    exchange.setHeaders({
      "content-security-policy": policyOf(nonce),
      "content-type": "text/html; charset=utf-8",
      "cache-control": "no-store",
    });
    if (page === undefined) exchange.setHeader("retry-after", "1");
    const transport = isSecure(exchange.request) ? "tls" : "clear";
    if (page === undefined) exchange.send(503, waitingPage(nonce));
    else exchange.send(200, page.replaceAll("__CSP_NONCE__", nonce).replace("__TRANSPORT__", transport));
  };
}

function fileSender(inFolder: InFolder): (exchange: Exchange, name: string) => Promise<void> {
  const cached = new Map<string, EncodedContent>();

  /** @throws ApiError OperationNotFound */
  async function load(name: string): Promise<EncodedContent> {
    const found = cached.get(name);
    if (found !== undefined) return found;
    const bytes = isFileName(name) ? await unlessMissing(readFile(inFolder(`${name}.br`))) : undefined;
    if (bytes === undefined) throw new ApiError("OperationNotFound");
    const content = createEncodedContent(bytes, true);
    if (isHashed(name)) cached.set(name, content);
    return content;
  }

  return async (exchange, name) => {
    const content = await load(name);
    const { encoding, etag } = content.choose(exchange.headers["accept-encoding"]);
    exchange.setHeaders({
      "cache-control": isHashed(name) ? "public, max-age=31536000, immutable" : "no-cache",
      vary: "Accept-Encoding",
      etag,
    });
    if (namesTag(exchange.headers["if-none-match"], etag)) {
      exchange.send(304);
      return;
    }
    exchange.setHeader("content-type", contentTypes.get(extname(name)) ?? "application/octet-stream");
    if (encoding !== "identity") exchange.setHeader("content-encoding", encoding);
    exchange.send(200, await content.encoded(encoding));
  };
}

/** Whether the name is a path below the folder, without hidden files and `..`. */
function isFileName(name: string): boolean {
  return /^\w[\w.-]*(?:\/\w[\w.-]*)*$/.test(name) && name.length <= nameCharactersMax;
}

const nameCharactersMax = 200;

/** Whether the name has a hash of the content, as Vite writes it: `index-CF2iYHT-.js`. */
function isHashed(name: string): boolean {
  return /-[\w-]{8}\.\w+$/.test(name);
}

const contentTypes: ReadonlyMap<string, string> = new Map([
  [".js", "text/javascript; charset=utf-8"],
  [".css", "text/css; charset=utf-8"],
  [".svg", "image/svg+xml"],
  [".png", "image/png"],
  [".json", "application/json"],
  [".webmanifest", "application/manifest+json"],
]);

/** @returns undefined if the file does not exist */
async function unlessMissing<Result>(reading: Promise<Result>): Promise<Result | undefined> {
  try {
    return await reading;
  } catch (error) {
    const code = error instanceof Error && "code" in error ? error.code : undefined;
    if (code === "ENOENT" || code === "ENOTDIR" || code === "EISDIR") return undefined;
    throw error;
  }
}

import { createHash, createHmac } from "node:crypto";

/**
 * The expected X-Amz-Signature of a URL: AWS Signature Version 4 in the query, as in the S3 API reference
 * ("Authenticating Requests: Using Query Parameters"). Only for URLs that sign no header but the host.
 */
export function signatureOf(method: string, url: URL, secretAccessKey: string): string {
  const pairs = [...url.searchParams].filter(([name]) => name !== "X-Amz-Signature");
  const query = pairs.map(([name, value]) => `${encode(name)}=${encode(value)}`).sort();
  const request = [method, url.pathname, query.join("&"), `host:${url.host}`, "", "host", "UNSIGNED-PAYLOAD"].join(
    "\n",
  );
  const [, ...scope] = (url.searchParams.get("X-Amz-Credential") ?? "").split("/");
  const digest = createHash("sha256").update(request).digest("hex");
  const text = ["AWS4-HMAC-SHA256", url.searchParams.get("X-Amz-Date"), scope.join("/"), digest].join("\n");
  const key = scope.reduce<Key>((from, part) => hmac(from, part), `AWS4${secretAccessKey}`);
  return hmac(key, text).toString("hex");
}

type Key = string | Buffer<ArrayBuffer>;

function hmac(key: Key, text: string): Buffer<ArrayBuffer> {
  return createHmac("sha256", key).update(text).digest();
}

function encode(text: string): string {
  return Array.from(Buffer.from(text), (byte) => {
    const character = String.fromCharCode(byte);
    if (/[A-Za-z0-9_.~-]/.test(character)) return character;
    return `%${byte.toString(16).toUpperCase().padStart(2, "0")}`;
  }).join("");
}

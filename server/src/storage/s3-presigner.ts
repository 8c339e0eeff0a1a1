import { SignatureV4 } from "@smithy/signature-v4";
import { type ByteStore, checkKey } from "./byte-store.ts";
import { createS3Client, type S3Options } from "./s3-client.ts";

/** Presigns object URLs (AWS Signature Version 4, in the query), without a request to the store. */
export function createPresigner(options: S3Options): NonNullable<ByteStore["presign"]> {
  const { bucket, endpoint, region, prefix, accessKeyId, secretAccessKey } = options;
  const { endpointProvider, sha256 } = createS3Client(options).config;
  const { url } = endpointProvider({
    Bucket: bucket,
    Region: region,
    ...(endpoint !== undefined && { Endpoint: endpoint, ForcePathStyle: true }), // as in the client
  });
  const { protocol, hostname, port, host, origin } = url;
  const folder = url.pathname.replace(/\/?$/, "/");
  const signer = new SignatureV4({
    service: "s3",
    region,
    credentials: { accessKeyId, secretAccessKey },
    sha256,
    uriEscapePath: false, // S3 signs paths unescaped, and keys contain nothing to escape
    applyChecksum: false,
  });

  return async (key, lifetimeSeconds, { contentType, contentDisposition, cacheControl }) => {
    checkKey(key);
    const path = `${folder}${prefix}${key}`;
    const request = {
      method: "GET",
      protocol,
      hostname,
      ...(port !== "" && { port: Number(port) }),
      path,
      query: {
        "response-content-type": contentType,
        "response-content-disposition": contentDisposition,
        "response-cache-control": cacheControl,
      },
      headers: { host, "x-amz-content-sha256": "UNSIGNED-PAYLOAD" }, // the presigner moves it into the query
    };
    const { query = {} } = await signer.presign(request, { expiresIn: lifetimeSeconds });
    const pairs = Object.entries(query).map(([name, value]) => `${encode(name)}=${encode(String(value))}`);
    return `${origin}${path}?${pairs.join("&")}`;
  };
}

/** Encodes as the signature requires: all but unreserved characters (RFC 3986), unlike URLSearchParams. */
function encode(text: string): string {
  return encodeURIComponent(text).replaceAll(
    /[!'()*]/g,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  );
}

import type { Mood } from "./compose.ts";
import { isDownload, type Operation } from "./document.ts";
import { headerText } from "./encoding.ts";
import { hostileText } from "./hostile.ts";
import type { Random } from "./random.ts";
import type { HeaderLine } from "./request.ts";
import type { World } from "./world.ts";

/** Irregularities of a request besides its content. */

export function oddHeaders(
  operation: Operation,
  mood: Mood,
  random: Random,
  world: World,
): { readonly headers: HeaderLine[] } {
  const headers: HeaderLine[] = [];
  // Also for operations that ignore it.
  const mayHaveKey = operation.method !== "GET" && operation.caller !== "operator";
  if (mayHaveKey && random.chance(0.15)) headers.push(["Idempotency-Key", idempotencyKey(mood, random, world)]);
  if (isDownload(operation) && random.chance(0.5)) headers.push(rangeHeader(random));
  if (random.chance(0.1)) {
    headers.push([
      "Origin",
      random.pick(["https://app.example.com", "null", "https://evil.example", headerText(hostileText(random))]),
    ]);
  }
  if (random.chance(0.05)) headers.push(["Accept", random.pick(["text/html", "*/*;q=0", "application/xml", "x"])]);
  if (mood !== "wild") return { headers };
  const more: readonly (() => HeaderLine)[] = [
    () => ["X-HTTP-Method-Override", random.pick(["DELETE", "PATCH", "GET", "head", "__proto__", "x"])],
    () => ["X-Forwarded-For", random.pick(["1.2.3.4", "::1", "x, y", headerText(hostileText(random))])],
    () => ["X-Forwarded-Proto", "https"],
    () => ["Accept-Encoding", random.pick(["gzip", "br, *;q=0.1", "identity;q=0"])],
    () => ["If-Match", '"x"'],
    () => ["Cookie", "a=b; __proto__=1"],
    () => ["Host", random.pick(["evil.example", "a b", "[::1]", "x".repeat(300)])],
    () => ["Access-Control-Request-Method", "POST"],
    () => ["X-Long", "x".repeat(random.pick([1_000, 8_000, 15_000]))],
    () => ["x-request-id", headerText(hostileText(random))],
    () => ["Idempotency-Key", headerText(hostileText(random))],
  ];
  while (random.chance(0.4)) headers.push((random.pick(more) ?? (() => ["X", "y"] as const))());
  return { headers };
}

function idempotencyKey(mood: Mood, random: Random, world: World): string {
  if (mood === "honest" || random.chance(0.5)) return `key-${random.word(3)}`;
  const { key } = random.pick(world.keyed) ?? { key: "x" };
  return random.pick([key, "x".repeat(255), "x".repeat(256), "1", headerText(hostileText(random))]);
}

function rangeHeader(random: Random): HeaderLine {
  return random.pick<HeaderLine>([
    ["Range", "bytes=0-3"],
    ["Range", "bytes=-5"],
    ["Range", "bytes=0-0,2-3"],
    ["Range", "bytes=5-"],
    ["Range", "bytes=99999-"],
    ["Range", "bytes=3-1"],
    ["Range", "bytes=a-b"],
    ["Range", `bytes=${"0-0,".repeat(500)}1-1`],
    ["Range", "bytes=0-99999999999999999999"],
    ["Range", "items=0-1"],
    ["If-None-Match", "*"],
    ["If-None-Match", '"x", W/"y"'],
    ["If-Range", '"x"'],
    ["If-Modified-Since", "Thu, 01 Jan 1970 00:00:00 GMT"],
  ]);
}

interface Malformed {
  readonly bytes: Buffer;
  readonly isBroken: boolean;
  readonly isLast: boolean;
}

/** Turns some of the requests into invalid HTTP, and leaves the others as they are. */
export function malform(bytes: Buffer, mood: Mood, random: Random): Malformed {
  if (mood !== "wild" || random.chance(0.9)) return { bytes, isBroken: false, isLast: false };
  const text = bytes.toString("latin1");
  const [line = ""] = text.split("\r\n", 1);
  const broken = random.pick([
    () => bytes.subarray(0, random.below(bytes.length)),
    () =>
      Buffer.from(
        text.replace(/Content-Length: \d+/, `Content-Length: ${random.pick(["5000", "-1", "x", "1e3", "0"])}`),
        "latin1",
      ),
    () => Buffer.from(text.replace("\r\n", "\r\nTransfer-Encoding: chunked\r\n"), "latin1"),
    () => Buffer.from(text.replace("\r\n", "\r\nContent-Length: 3\r\n"), "latin1"),
    () =>
      Buffer.from(text.replace("HTTP/1.1", random.pick(["HTTP/1.0", "HTTP/9.9", "HTTP/1.1 x", "http/1.1"])), "latin1"),
    () =>
      Buffer.from(
        text.replace(/^\w+/, random.pick(["BREW", "get", "G\0T", "OPTIONS", "CONNECT", "TRACE", "PROPFIND"])),
        "latin1",
      ),
    () => Buffer.from(text.replace("Host: fuzz\r\n", ""), "latin1"),
    () =>
      Buffer.from(
        text.replace(line, line.replace(" /", ` /${random.pick(["%", "%ff", "\x00", "\xff", "a b", "http://x/"])}`)),
        "latin1",
      ),
    () => Buffer.from(text.replace("\r\n", "\r\nExpect: 200-maybe\r\n"), "latin1"),
    () => Buffer.from(text.replace("\r\n", "\r\nX Y: z\r\n"), "latin1"),
    () => Buffer.from(text.replace("\r\n", `\r\nX: ${"y".repeat(20_000)}\r\n`), "latin1"),
    () => Buffer.from(text.replaceAll("\r\n", "\n"), "latin1"),
    () => Buffer.concat([Buffer.from("\x16\x03\x01\x02\x00\x01\x00", "latin1"), bytes]),
  ])();
  return { bytes: broken, isBroken: true, isLast: true };
}

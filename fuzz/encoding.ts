import { type FormPart, formHeaders, formOf } from "../testkit/forms.ts";
import type { Content, Mood, Named } from "./compose.ts";
import { encode } from "./compose.ts";
import type { Operation } from "./document.ts";
import { hostileText } from "./hostile.ts";
import { png, tinyPicture } from "./pictures.ts";
import type { Random } from "./random.ts";
import type { HeaderLine } from "./request.ts";

/** The same content in each encoding that the server accepts. */

export interface Encoded {
  readonly target: string;
  readonly headers: readonly HeaderLine[];
  readonly body: Buffer;
}

export function encodeContent(operation: Operation, content: Content, mood: Mood, random: Random): Encoded {
  const query = [...content.query];
  let body = [...content.body];
  if (operation.method === "DELETE" && random.chance(0.4)) body = query.splice(0);
  if (mood === "wild" && random.chance(0.1)) query.push(...body); // in the query and in the body
  const search = query.map(([name, value]) => `${encode(name)}=${encode(plain(value))}`).join("&");
  const target = search === "" ? content.path : `${content.path}?${search}`;
  const protocol = content.headers.map(([name, value]): HeaderLine => [name, headerText(plain(value))]);
  const { headers, bytes } = encodeBody(operation, body, mood, random);
  return { target, headers: [...protocol, ...headers], body: bytes };
}

function encodeBody(
  operation: Operation,
  body: readonly Named[],
  mood: Mood,
  random: Random,
): { readonly headers: readonly HeaderLine[]; readonly bytes: Buffer } {
  switch (operation.takes) {
    case "form":
      return encodeForm(body, mood, random);
    case "bytes":
      return { headers: [["Content-Type", "application/offset+octet-stream"]], bytes: Buffer.alloc(0) };
    default: {
      if (mood === "wild" && random.chance(0.15)) return oddBody(body, random);
      const isForm = body.length > 0 && random.chance(0.1) && body.every(([, value]) => typeof value !== "object");
      const type = isForm ? "application/x-www-form-urlencoded" : "application/json";
      const text = isForm ? formText(body) : body.length === 0 ? random.pick(["", "{}"]) : jsonText(body);
      return { headers: [["Content-Type", type]], bytes: Buffer.from(text) };
    }
  }
}

function formText(body: readonly Named[]): string {
  return body.map(([name, value]) => `${encode(name)}=${encode(plain(value))}`).join("&");
}

/** Members in this order, with duplicate names and numbers that `JSON.stringify` cannot write. */
function jsonText(members: readonly Named[]): string {
  return `{${members.map(([name, value]) => `${JSON.stringify(name)}:${JSON.stringify(value) ?? "null"}`).join(",")}}`;
}

const types = [
  ...["text/plain", "application/json; charset=utf-8", "application/json; charset=iso-8859-1"],
  ...["application/json; charset=utf-16", "application/xml", "multipart/form-data; boundary="],
  ...["multipart/form-data; boundary=x", "application/x-www-form-urlencoded; charset=latin1", "APPLICATION/JSON"],
  ...["; ; ;", "x"],
];

function oddBody(body: readonly Named[], random: Random): { headers: HeaderLine[]; bytes: Buffer } {
  const text = jsonText(body);
  const bytes = random.pick([
    () => Buffer.from(text.slice(0, -1)),
    () => Buffer.from(`${"[".repeat(20_000)}`),
    () => Buffer.from(`${'{"a":'.repeat(20_000)}1${"}".repeat(20_000)}`),
    () => Buffer.from("[]"),
    () => Buffer.from("null"),
    () => Buffer.from('"text"'),
    () => Buffer.from(text.replaceAll(/:\d+/g, ":1e400")),
    () => Buffer.from(text.replaceAll(/:"/g, ':"\\ud800')),
    () => Buffer.concat([Buffer.from(text), Buffer.from([0xff, 0xfe])]),
    () => Buffer.from(`\ufeff ${text}`),
    () => Buffer.from(text.replaceAll('"', "'")),
    () => Buffer.from(text, "utf16le"),
    () => Buffer.alloc(1_200_000, "x"),
    () => Buffer.from([0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3]),
  ])();
  const headers: HeaderLine[] = random.chance(0.9)
    ? [["Content-Type", random.pick(["application/json", ...types]) ?? ""]]
    : [];
  if (random.chance(0.1)) headers.push(["Content-Encoding", random.pick(["gzip", "br", "x"])]);
  return { headers, bytes };
}

const fileNames = [
  ...["a.bin", "me.svg", "../../evil", "a\\b", "%2e%2e%2f", "x".repeat(300), "日本.png", 'q".html', "nul\0l", ""],
];
const fileTypes = ["image/png", "image/jpg", "text/html", "image/svg+xml", "video/mp4", "x", "a/b; c=d", "\u00ff"];

function encodeForm(fields: readonly Named[], mood: Mood, random: Random): { headers: HeaderLine[]; bytes: Buffer } {
  const isHostile = mood !== "honest" && random.chance(0.4);
  const given = fields.filter(([name]) => name.toLowerCase() !== "data");
  const data: FormPart = {
    name: "data",
    value: isHostile ? hostileFile(random) : random.pick([png, tinyPicture(random.word(6))]),
    fileName: headerText((isHostile ? random.pick(fileNames) : "a.bin") ?? "").replaceAll('"', "%22"),
    contentType: headerText((isHostile ? random.pick(fileTypes) : "application/octet-stream") ?? ""),
  };
  const plainFields = given.map(
    ([name, value]): FormPart => ({ name: headerText(name).replaceAll('"', "%22"), value: plain(value) }),
  );
  const together: FormPart = {
    name: "body",
    value: jsonText(given),
    fileName: "body.json",
    contentType: "application/json",
  };
  const texts = random.chance(0.5) ? plainFields : [together];
  const parts = random.chance(0.5) ? [...texts, data] : [data, ...texts];
  const contentType = formHeaders["content-type"];
  const body = formOf(isHostile && random.chance(0.2) ? [...parts, data, together] : parts);
  if (!isHostile || random.chance(0.7)) return { headers: [["Content-Type", contentType]], bytes: body };
  const broken = random.pick([
    body.subarray(0, random.below(body.length)),
    body.subarray(random.below(20)),
    Buffer.from(body.toString("latin1").replaceAll("\r\n", "\n"), "latin1"),
    Buffer.from(body.toString("latin1").replace("form-data", "attachment"), "latin1"),
  ]);
  return { headers: [["Content-Type", random.pick([contentType, ...types]) ?? ""]], bytes: broken };
}

function hostileFile(random: Random): Buffer {
  return random.pick([
    () => Buffer.alloc(0),
    () => Buffer.from("<svg xmlns='http://www.w3.org/2000/svg'><script>alert(1)</script></svg>"),
    () => Buffer.from("<html><script>alert(1)</script>"),
    () => png.subarray(0, 40),
    () => Buffer.concat([png.subarray(0, 20), Buffer.alloc(40, 0xff)]),
    () => Buffer.from("GIF89a\xff\xff\xff\xff", "latin1"),
    () => Buffer.from("\x00\x00\x00\x1cftypavif", "latin1"),
    () => Buffer.from("RIFF\xff\xff\xff\xffWEBPVP8 ", "latin1"),
    () => Buffer.from("\xff\xd8\xff\xe0", "latin1"),
    () => Buffer.from(hostileText(random)),
  ])();
}

/** As a query or a form contains it. */
export function plain(value: unknown): string {
  return typeof value === "string" ? value : (JSON.stringify(value) ?? "");
}

/** Removes line breaks, so that the text stays within one header. */
export function headerText(text: string): string {
  return text.toWellFormed().replaceAll(/[\r\n\0]/g, " ");
}

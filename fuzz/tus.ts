import { createHash } from "node:crypto";
import { type Content, compose, type Mood, type Named } from "./compose.ts";
import { hostileText } from "./hostile.ts";
import { tinyPicture } from "./pictures.ts";
import type { Random } from "./random.ts";
import type { Setting } from "./recipes.ts";

/** Resumable uploads use headers and raw bytes instead of parameters. */
export function tusContent(setting: Setting, mood: Mood): Content & { readonly bytes: Buffer } {
  const { operation, random, caller } = setting;
  const content = compose(setting, "honest");
  const unfinished = caller?.kind === "user" ? [...caller.own.of("upl")] : [];
  const isHostile = mood !== "honest";
  const [id, length = "10"] = (random.pick(unfinished) ?? "").split("|").slice(1);
  const bytes = Buffer.from("0123456789").subarray(
    0,
    operation.id === "continueUpload" ? Number(length) : random.pick([0, 5, 10]),
  );
  const sent = isHostile && random.chance(0.3) ? Buffer.from("x".repeat(random.below(40))) : bytes;
  const values: Record<string, string> = {
    "Tus-Resumable": "1.0.0",
    "Upload-Length": "10",
    "Upload-Offset": `${10 - Number(length)}`,
    "Upload-Metadata": uploadMetadata(random, isHostile),
  };
  if (random.chance(0.3)) {
    const digest = createHash("sha256")
      .update(isHostile ? "x" : sent)
      .digest("base64");
    values["Upload-Checksum"] = `sha256 ${digest}`;
  }
  const declared = new Set(operation.inHeaders.map(({ name }) => name));
  const headers = Object.entries(values)
    .filter(([name]) => declared.has(name))
    .flatMap(([name, value]): Named[] => {
      if (!isHostile || random.chance(0.7)) return [[name, value]];
      const hostile = random.pick([
        "-1",
        "1e3",
        "99999999999999999999",
        "0",
        "11",
        "5",
        "x",
        "sha256 x",
        "crc32 AAAA",
        hostileText(random),
      ]);
      return random.chance(0.3) ? [] : [[name, hostile]];
    });
  const path = operation.path.includes("{") && id !== undefined ? `/files/uploads/${id}` : content.path;
  const takesBytes = operation.takes === "bytes";
  return { ...content, path, headers, bytes: takesBytes ? sent : Buffer.alloc(0) };
}

function uploadMetadata(random: Random, isHostile: boolean): string {
  const kind = random.pick(["blob", "video", "blob", "picture"]);
  const fields = {
    kind,
    filename: `${tinyPicture.name}.bin`,
    filetype: "application/octet-stream",
    tag: random.word(5),
  };
  const pairs = Object.entries(fields).map(([name, value]) => `${name} ${Buffer.from(value).toString("base64")}`);
  if (!isHostile) return pairs.join(",");
  return random.pick([
    pairs.slice(1).join(","),
    [...pairs, ...pairs].join(","),
    `kind ${Buffer.from("__proto__").toString("base64")}`,
    `kind !!!,${pairs.join(" ")}`,
    `kind ${Buffer.from("blob").toString("base64")},filename ${Buffer.from(hostileText(random)).toString("base64")}`,
    `kind ${Buffer.from("blob").toString("base64")},location ${Buffer.from("91,181").toString("base64")}`,
    "",
    hostileText(random),
  ]);
}

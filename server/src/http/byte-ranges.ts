import type { ByteRange } from "./file-result.ts";

/** More ranges than this are somebody who makes work: the whole file is less. */
const rangesMax = 16;

/**
 * What a Range header asks for (RFC 9110 section 14).
 *
 * @returns undefined for the whole file: without the header, or when it is none that we know; no range at all when none of
 * them lies in the file
 */
export function parseRanges(header: string | undefined, length: number): readonly ByteRange[] | undefined {
  const listed = /^bytes=(.*)$/i.exec(header?.trim() ?? "")?.[1];
  if (listed === undefined) return undefined;
  const parts = listed.split(",").map((part) => part.trim());
  const ranges: ByteRange[] = [];
  for (const part of parts) {
    const [, first = "", last = ""] = /^(\d*)-(\d*)$/.exec(part) ?? [];
    if (first === "" && last === "") return undefined;
    if (first !== "" && last !== "" && Number(last) < Number(first)) return undefined;
    const start = first === "" ? Math.max(0, length - Number(last)) : Number(first);
    const end = first === "" || last === "" ? length : Math.min(length, Number(last) + 1);
    if (start < end) ranges.push({ start, end });
  }
  const asked = ranges.reduce((sum, { start, end }) => sum + end - start, 0);
  if (parts.length > rangesMax || asked > length) return undefined; // overlapping ones among them
  return ranges;
}

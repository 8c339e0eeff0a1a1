import type { ByteRange } from "../contract/file-result.ts";

/** More ranges than this only cost work: the whole file is sent instead. */
const rangesMax = 16;

/**
 * Parses a Range header (RFC 9110 section 14).
 *
 * @returns undefined for the whole file, when the header is absent or not understood; an empty list when no range
 * overlaps the file
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
  if (parts.length > rangesMax || asked > length) return undefined; // overlapping ranges exceed the length
  return ranges;
}

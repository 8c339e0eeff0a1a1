import { readFileSync } from "node:fs";
import { SourceMap, type SourceMapping } from "node:module";

/** Whether this runs from the bundle (scripts/bundle.ts) instead of the sources. */
const isBundled = import.meta.url.endsWith(".js");

const folder = new URL(".", import.meta.url).href;
const maps = new Map<string, SourceMap | undefined>();

/**
 * Makes stack traces of the bundle name positions in the sources. Reads a source map when a stack trace needs it: `node
 * --enable-source-maps` would read all of them at the start.
 */
export function nameSourcesInStacks(): void {
  const format = Error.prepareStackTrace;
  if (!isBundled || format === undefined) return;
  Error.prepareStackTrace = (error, frames) => withSources(String(format(error, frames)));
}

/** Replaces positions in files of the bundle by positions in the sources. */
function withSources(stack: string): string {
  return stack.replaceAll(/(file:\S+\.js):(\d+):(\d+)/g, (position, file: string, line: string, column: string) => {
    const { originalSource, originalLine, originalColumn } = mappingOf(file, Number(line) - 1, Number(column) - 1);
    if (originalSource === undefined || originalLine === undefined || originalColumn === undefined) return position;
    return `${new URL(originalSource, file)}:${originalLine + 1}:${originalColumn + 1}`;
  });
}

function mappingOf(file: string, line: number, column: number): Partial<SourceMapping> {
  return (file.startsWith(folder) && mapOf(file)?.findEntry(line, column)) || {};
}

function mapOf(file: string): SourceMap | undefined {
  if (!maps.has(file)) maps.set(file, readMap(file));
  return maps.get(file);
}

function readMap(file: string): SourceMap | undefined {
  try {
    return new SourceMap(JSON.parse(readFileSync(new URL(`${file}.map`), "utf8")));
  } catch {
    return undefined; // an unreadable map must not replace the error
  }
}

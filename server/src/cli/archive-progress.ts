import { statSync } from "node:fs";
import type { ArchiveProgress } from "../archives/archive.ts";
import { readArchiveFile } from "../archives/archive-file.ts";
import { formatCount, formatMebibytes, type Progress } from "./progress.ts";

/** Reports the progress of writing an archive: rows compared with an estimate, then bytes of files. */
export function reportArchive(progress: Progress): (written: ArchiveProgress) => void {
  return ({ rows, rowsTotal, files, filesTotal, bytes }) => {
    if (filesTotal === undefined) {
      const detail = `${formatCount(rows)} rows`;
      progress.report({ name: "rows", done: rows, total: rowsTotal, isEstimate: true, detail });
      return;
    }
    const ofFiles = `${formatCount(files)} of ${formatCount(filesTotal.files)} files`;
    const detail = `${ofFiles}, ${formatMebibytes(bytes)} of ${formatMebibytes(filesTotal.bytes)} MiB`;
    progress.report({ name: "files", done: bytes, total: filesTotal.bytes, isEstimate: true, detail });
  };
}

/** Reads an archive, and reports the progress. */
export async function* readWithProgress(path: string, name: string, progress: Progress): AsyncGenerator<Uint8Array> {
  const found = statSync(path);
  const total = found.isFile() ? found.size : undefined;
  yield* reportBytes(readArchiveFile(path), { name, total }, progress);
}

/** Passes bytes through, and reports their number. */
export async function* reportBytes(
  source: AsyncIterable<Uint8Array>,
  { name, total, isEstimate = false }: { name: string; total?: number | undefined; isEstimate?: boolean },
  progress: Progress,
): AsyncGenerator<Uint8Array> {
  let done = 0;
  for await (const chunk of source) {
    yield chunk;
    done += chunk.length;
    const ofTotal = total === undefined || total < done ? "" : ` of ${formatMebibytes(total)}`;
    progress.report({ name, done, total, isEstimate, detail: `${formatMebibytes(done)}${ofTotal} MiB` });
  }
}

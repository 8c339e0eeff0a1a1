import type { StoredRow } from "../db/snapshot.ts";
import { MalformedBytesError } from "../lib/bytes.ts";
import { checkRollup } from "../metrics/engine/rollups.ts";
import { isRollupId } from "../metrics/engine/series.ts";
import { Tally } from "../statistics/tally.ts";
import { ArchiveError } from "./format.ts";
import type { LoadedRows } from "./row-loader.ts";

/** What decodes each binary column of an application's tables. @throws MalformedBytesError */
export const binaryColumns: Readonly<Record<string, (row: StoredRow) => void>> = {
  "statistics.data": ({ data }) => Tally.read(data as Uint8Array), // its type was checked
  "metric_rollups.data"({ id, dimension, data }) {
    if (!isRollupId(String(id))) throw new MalformedBytesError("The id is not one of a roll-up");
    checkRollup(String(dimension), data as Uint8Array); // as above
  },
};

const decodersByTable = Map.groupBy(Object.entries(binaryColumns), ([column]) => column.split(".")[0]);

/**
 * Decodes the binary columns of rows, so that no row is stored that background work or a reader could not decode.
 *
 * @throws ArchiveError
 */
export function requireDecodable({ table, rows, rowsBefore }: LoadedRows): void {
  for (const [column, decode] of decodersByTable.get(table) ?? []) {
    for (const [index, row] of rows.entries()) {
      try {
        decode(row);
      } catch (cause) {
        if (!(cause instanceof MalformedBytesError)) throw cause;
        throw new ArchiveError(
          `Row ${rowsBefore + index + 1} of ${table} cannot be stored: ${column.slice(table.length + 1)} is not what a server writes. ${cause.message}`,
          { cause },
        );
      }
    }
  }
}

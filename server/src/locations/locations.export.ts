import type { Database } from "../db/database.ts";
import { eachRow } from "../db/search/stream.ts";
import type { UserExporter } from "../owned/export.ts";
import { presentFlag } from "./locations.flags.contract.ts";
import { flagsStream } from "./locations.flags.store.ts";

const rowsAtOnce = 500;

/** Exports a user's flags of locations. */
export function locationFlagsExporter({ database }: { readonly database: Database }): UserExporter {
  return async function* ({ applicationId, userId: userID }) {
    async function* rows() {
      const flags = flagsStream(applicationId, { userID }, database.reads);
      for await (const flag of eachRow(flags, rowsAtOnce)) yield presentFlag(flag);
    }
    yield { name: "flags.ndjson", rows: rows() };
  };
}

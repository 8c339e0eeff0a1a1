import type { Database } from "../db/database.ts";
import { eachRow } from "../db/search/stream.ts";
import type { UserExporter } from "../owned/export.ts";
import { presentIdentity } from "./identities.contract.ts";
import { identitiesStream } from "./identities.store.ts";

const rowsAtOnce = 500;

/** Exports the identities of a user. */
export function identitiesExporter({ database }: { readonly database: Database }): UserExporter {
  return async function* ({ applicationId, userId }) {
    async function* rows() {
      const stream = identitiesStream(applicationId, userId, undefined, database.reads);
      for await (const identity of eachRow(stream, rowsAtOnce)) {
        yield { ...presentIdentity(identity), verified: identity.is_verified === 1 };
      }
    }
    yield { name: "identities.ndjson", rows: rows() };
  };
}

import type { RawBuilder } from "kysely";
import type { Queries } from "../database.ts";
import type { Dialect } from "../dialect.ts";

/**
 * One step of the schema, the same for both engines; forward only.
 *
 * While a new version is rolled out, processes of the version before go on serving beside it: a migration leaves them what
 * they read and write. It adds tables, indexes, and columns that may be null or have a default; it takes nothing away,
 * renames nothing and adds no rule that what they write may break.
 */
export interface Migration {
  readonly name: string;
  /**
   * Takes away what the versions without it need, and keeps them from starting. To be released one version after the last
   * one that needed it: those that run by then do not hear of it.
   */
  readonly refusesOlder?: boolean;
  statements(ddl: Dialect["ddl"]): readonly RawBuilder<unknown>[];
  /** Computes what SQL cannot, after the statements. */
  fill?(queries: Queries): Promise<void>;
}

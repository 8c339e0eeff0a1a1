import type { RawBuilder } from "kysely";
import type { Dialect } from "../dialect.ts";

/**
 * One step of the schema, the same for both engines; forward only.
 *
 * During a rollout, processes of the previous version keep running next to the new ones, so a migration must not break
 * their reads and writes. It adds tables, indexes, and columns that are nullable or have a default; it drops and
 * renames nothing, and adds no constraint that their writes could violate.
 */
export interface Migration {
  readonly name: string;
  /**
   * The migration breaks older versions, and prevents them from starting. Release it one version after the last one
   * that it breaks: running processes do not notice it.
   */
  readonly refusesOlder?: boolean;
  statements(ddl: Dialect["ddl"]): readonly RawBuilder<unknown>[];
}

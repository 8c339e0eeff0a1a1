import type { RawBuilder } from "kysely";
import type { Queries } from "../database.ts";
import type { Dialect } from "../dialect.ts";

/** One step of the schema, the same for both engines; forward only. */
export interface Migration {
  readonly name: string;
  statements(ddl: Dialect["ddl"]): readonly RawBuilder<unknown>[];
  /** Computes what SQL cannot, after the statements. */
  fill?(queries: Queries): Promise<void>;
}

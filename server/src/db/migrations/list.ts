import type { Migration } from "../migrate.ts";
import { foundation } from "./0001-foundation.ts";

/** All migrations in order. Append only: what has been released is never changed. */
export const migrations: readonly Migration[] = [foundation];

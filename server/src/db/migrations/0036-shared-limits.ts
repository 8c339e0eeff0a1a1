import { type RawBuilder, sql } from "kysely";
import type { Migration } from "./migration.ts";

/** The buckets of limits, of applications and of the deployment, and the nonces of regions: all processes share them. */
export const sharedLimits: Migration = {
  name: "0036-shared-limits",
  statements: ({ text, integer, real, tableOptions }) => {
    const ofApplication = sql`, foreign key (application_id) references applications (application_id)`;
    const buckets = (name: string, reference: RawBuilder<unknown>) => [
      sql`
        create table ${sql.table(name)} (
          application_id ${text} not null,
          key ${text} not null,
          missing ${real} not null,
          at ${integer} not null,
          ends_at ${integer} not null,
          primary key (application_id, key)
          ${reference}
        ) ${tableOptions}`,
      sql`create index ${sql.ref(`${name}_end`)} on ${sql.table(name)} (ends_at)`,
    ];
    return [
      ...buckets("limit_buckets", ofApplication),
      ...buckets("deployment_limit_buckets", sql``),
      sql`create table region_nonces (nonce ${text} not null, ends_at ${integer} not null, primary key (nonce)) ${tableOptions}`,
      sql`create index region_nonces_end on region_nonces (ends_at)`,
    ];
  },
};

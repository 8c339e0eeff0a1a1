import { sql } from "kysely";
import type { Migration } from "./migration.ts";

/**
 * Webhooks, and the deliveries of each (spec/webhooks). A webhook is a cursor in the log of its application: only
 * events that wait for another attempt, or whose delivery is listed, have a row. The partial indexes find the webhooks
 * and the deliveries that are due.
 */
export const webhooks: Migration = {
  name: "0050-webhooks",
  statements: ({ text, integer, tableOptions }) => [
    sql`
      create table webhooks (
        application_id ${text} not null,
        id ${text} not null,
        name ${text} not null,
        url ${text} not null,
        types ${text} not null,
        format ${text} not null,
        header_names ${text} not null,
        headers ${text},
        concurrency ${integer} not null,
        timeout_ms ${integer} not null,
        per_second ${integer} not null,
        true_locations ${integer} not null,
        state ${text} not null,
        secret ${text},
        secret_at ${integer} not null,
        older_secret ${text},
        older_secret_at ${integer} not null,
        older_secret_ends_at ${integer} not null,
        log ${text} not null,
        position ${integer} not null,
        event_id ${text} not null,
        position_at ${integer} not null,
        turn ${integer} not null,
        lease_holder ${text} not null,
        lease_ends_at ${integer} not null,
        wake_at ${integer},
        failures ${integer} not null,
        failed_events ${text} not null,
        failing_since ${integer},
        probes ${integer} not null,
        probed ${text} not null,
        held_until ${integer} not null,
        held_since ${integer},
        last_success_at ${integer},
        last_failure_at ${integer},
        tests ${integer} not null,
        tests_since ${integer} not null,
        created_at ${integer} not null,
        modified_at ${integer} not null,
        primary key (application_id, id),
        foreign key (application_id) references applications (application_id)
      ) ${tableOptions}`,
    sql`create index webhooks_by_waking on webhooks (wake_at) where wake_at is not null`,
    sql`
      create table webhook_deliveries (
        application_id ${text} not null,
        webhook_id ${text} not null,
        id ${text} not null,
        event_id ${text} not null,
        type ${text} not null,
        log ${text} not null,
        position ${integer} not null,
        attempt ${integer} not null,
        state ${text} not null,
        status ${integer},
        ms ${integer},
        error ${text},
        response ${text},
        is_replay ${integer} not null,
        created_at ${integer} not null,
        next_attempt_at ${integer},
        primary key (application_id, webhook_id, id),
        foreign key (application_id) references applications (application_id)
      ) ${tableOptions}`,
    sql`create index webhook_deliveries_by_state on webhook_deliveries (application_id, webhook_id, state, id)`,
    sql`create index webhook_deliveries_by_attempt on webhook_deliveries (application_id, webhook_id, next_attempt_at, id)
      where next_attempt_at is not null`,
  ],
};

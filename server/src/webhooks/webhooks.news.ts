import type { WebhookRow } from "../db/tables.ts";
import type { EventLog } from "../event-log/event-log.ts";
import { LruMap } from "../lib/lru-map.ts";
import { eventsPerRead, isWanted } from "./webhooks.entries.ts";

const webhooksMax = 10_000;
const rowsMax = 5_000;

/** Whether the log has events for a webhook. */
export interface WebhookNews {
  /**
   * Reads only rows that this process has not read before, so that events of other types cost a webhook no write. True
   * also when its place is far behind, so that it moves on with the log.
   */
  hasNews(row: WebhookRow): Promise<boolean>;
}

export function createWebhookNews({
  eventLog,
}: {
  readonly eventLog: Pick<EventLog, "list" | "findEnd">;
}): WebhookNews {
  /** The position up to which the log has no event for a webhook, and the row for which that holds. */
  const quietTo = new LruMap<string, { readonly of: string; readonly position: number }>(webhooksMax);

  return {
    async hasNews(row) {
      const { application_id, id, position, types, log, turn } = row;
      const of = `${log} ${turn} ${position} ${types}`;
      const known = quietTo.get(id);
      let from = known?.of === of ? known.position : position;
      const end = await eventLog.findEnd(application_id);
      if (end.log !== log) return true;
      while (from < end.position && from - position < rowsMax) {
        const events = await eventLog.list(application_id, from, eventsPerRead);
        const [first] = events;
        if (first === undefined || first.position !== from + 1) return true; // the log has passed the webhook
        if (events.some((event) => isWanted(event, row))) return true;
        from = events.at(-1)?.position ?? end.position;
      }
      quietTo.set(id, { of, position: from });
      return from - position >= rowsMax;
    },
  };
}

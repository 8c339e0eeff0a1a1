import type { Database } from "../db/database.ts";
import type { WebhookState } from "../db/tables.ts";
import { findBacklog } from "./webhooks.backlog.ts";
import { listWatched } from "./webhooks.serving.store.ts";

/** How the webhooks of a deployment were doing when a process last looked. */
export interface WebhookStatistics {
  readonly states: ReadonlyMap<WebhookState, number>;
  /** Those with events that wait, with the time at which the oldest was written. */
  readonly behind: readonly {
    readonly applicationId: string;
    readonly id: string;
    readonly events: number;
    readonly since: number;
  }[];
}

/** Looks at webhooks while metrics are scraped. */
export interface WebhookWatch {
  /** What the latest look has found; further looks follow while this is called. */
  latest(): WebhookStatistics;
  /** Looks if metrics were scraped lately. */
  look(): Promise<void>;
}

/** Without a scrape for so long, nothing looks. */
const scrapedMsMax = 300_000;
/** Webhooks whose waiting events are counted: those that do not get their events first. */
const countedMax = 1_000;

/** @param onFirst runs at the first of several scrapes, which has to begin a look */
export function createWebhookWatch({ database }: { readonly database: Database }, onFirst: () => void): WebhookWatch {
  let scrapedAt = Number.NEGATIVE_INFINITY;
  let found: WebhookStatistics = { states: new Map(), behind: [] };

  return {
    latest() {
      const isFirst = performance.now() - scrapedAt > scrapedMsMax;
      scrapedAt = performance.now();
      if (isFirst) onFirst();
      return found;
    },

    async look() {
      if (performance.now() - scrapedAt > scrapedMsMax) return;
      const { states, rows } = await listWatched(countedMax, database.reads);
      const behind: WebhookStatistics["behind"][number][] = [];
      for (const row of rows) {
        const { events, since } = await findBacklog(row, database.reads);
        if (since !== undefined) behind.push({ applicationId: row.application_id, id: row.id, events, since });
      }
      found = { states, behind };
    },
  };
}

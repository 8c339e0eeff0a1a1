import { setTimeout as sleep } from "node:timers/promises";
import type { Log } from "../config/log.ts";
import type { Database } from "../db/database.ts";

/** Notifies other processes that logs may have new events. A hint, which may be lost: they poll as well. */
export interface Announcements {
  announce(applicationIds: Iterable<string>): void;
  close(): void;
}

const separator = " ";
/** PostgreSQL accepts 8,000. */
const bytesMax = 7_900;
const restMs = 25;

export function createAnnouncements({
  database,
  log,
}: {
  readonly database: Pick<Database, "signal">;
  readonly log: Log;
}): Announcements {
  const waiting = new Set<string>();
  let isSending = false;
  let isClosed = false;
  let isFailing = false;

  async function sendWaiting(): Promise<void> {
    while (waiting.size > 0 && !isClosed) {
      const text = [...waiting].join(separator);
      waiting.clear();
      try {
        await database.signal(text.length > bytesMax ? "" : text);
        isFailing = false;
      } catch (err) {
        if (!isFailing && !isClosed) log.warn({ err }, "other processes could not be notified of new events");
        isFailing = true;
      }
      await sleep(restMs, undefined, { ref: false });
    }
    isSending = false;
  }

  return {
    announce(applicationIds) {
      for (const id of applicationIds) waiting.add(id);
      if (isSending || waiting.size === 0 || isClosed) return;
      isSending = true;
      void sendWaiting();
    },
    close() {
      isClosed = true;
    },
  };
}

/** @returns the applications that an announcement names; undefined for all */
export function readAnnouncement(text: string): readonly string[] | undefined {
  return text === "" ? undefined : text.split(separator);
}

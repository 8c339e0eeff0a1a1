import { loadConfig } from "../server/src/config/config.ts";
import type { Queries } from "../server/src/db/database.ts";
import { openDatabase } from "../server/src/db/open.ts";
import type { CheckinRow } from "../server/src/db/tables.ts";
import { createClock } from "../server/src/lib/clock.ts";
import { createIdGenerator, type IdGenerator } from "../server/src/lib/ids.ts";
import { insertOwned } from "../server/src/owned/store.ts";
import { checkinRow } from "../server/test/rows.ts";
import type { Deployment } from "./engine.ts";

const rowsPerTransaction = 500;
const transactionsAtOnce = 8;

/** Writes rows with the server's own stores, beside the running server. */
export async function fill(
  { settings }: Deployment,
  count: number,
  insert: (number: number, ids: IdGenerator, queries: Queries) => Promise<unknown>,
): Promise<void> {
  const database = await openDatabase(loadConfig(settings).databaseUrl, { connectionsMax: 10, timeoutMs: 60_000 });
  const clock = createClock();
  const ids = createIdGenerator(() => clock.now());
  let next = 0;
  async function insertSome(): Promise<void> {
    while (next < count) {
      const [from, to] = [next, Math.min(next + rowsPerTransaction, count)];
      next = to;
      await database.write(async ({ queries }) => {
        for (let number = from; number < to; number += 1) await insert(number, ids, queries);
      });
    }
  }
  try {
    await Promise.all(Array.from({ length: transactionsAtOnce }, insertSome));
  } finally {
    await database.close();
  }
}

/** Check-ins a second apart, the last of them now. */
export function fillCheckins(
  deployment: Deployment,
  count: number,
  rowOf: (number: number) => Pick<CheckinRow, "application_id" | "user_id"> & Partial<CheckinRow>,
): Promise<void> {
  const startAt = Date.now() - count * 1000;
  return fill(deployment, count, (number, ids, queries) =>
    insertOwned(
      "checkins",
      checkinRow({ id: ids.newId("Checkin"), created_at: startAt + number * 1000, ...rowOf(number) }),
      queries,
    ),
  );
}

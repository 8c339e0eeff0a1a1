import { randomBytes } from "node:crypto";
import type { Log } from "../config/log.ts";
import type { Database } from "../db/database.ts";
import { type AnsweredCall, notOperations } from "../http/request-observer.ts";
import type { Clock } from "../lib/clock.ts";
import { spans, startOf } from "../lib/spans.ts";
import { createYield } from "../lib/yield.ts";
import { readKeys } from "./statistics.reading.ts";
import { insertStatistics, listBusiest, type StatisticsRow } from "./statistics.store.ts";
import { type Activity, listActivity } from "./statistics.totals.ts";
import { createVersionCounts } from "./statistics.versions.ts";
import { type KeyTally, Tally } from "./tally.ts";

/** Counts the activity of applications in memory, and writes it every minute (spec/statistics). */
export interface Statistics {
  /** Runs for each answered call and each item of a batch, so it must be cheap. */
  count(call: AnsweredCall): void;
  countFile(applicationId: string, bytes: number): void;
  countNew(applicationId: string, kind: "newDevices" | "newUsers"): void;
  countRegistration(applicationId: string, keyId: string): void;
  /** Counts a device's report of its app version. */
  countVersion(applicationId: string, appVersion: string, platform: string): void;
  /** Records how many calls of a device within a minute counted against a limit. Runs for each call. */
  countPeak(applicationId: string, limit: string, calls: number): void;
  /** Returns the activity of clients with each key in the last 24 hours, by key id. */
  readKeys(applicationId: string): Promise<ReadonlyMap<string, KeyTally>>;
  /** Returns the activity of applications in the last 24 hours, by id. */
  readActivity(applicationIds: readonly string[]): Promise<ReadonlyMap<string, Activity>>;
  /** Returns the ids of the applications with the most calls in the last 15 minutes, the busiest first. */
  readBusiest(): Promise<readonly string[]>;
  /** Writes the current counts. Logs a failure; the next call tries again. */
  save(): Promise<void>;
}

/** About 2 KB each. Above this number, they are saved before the minute is over. */
const operationsMax = 10_000;
/** About 50 bytes each, per application. */
const devicesMax = 1_000;
const rowBytesMax = 16_384;
const rowsPerStatement = 500;
/** The bytes that may wait while the database is unavailable; the oldest rows are dropped first. */
const waitingBytesMax = 16 * 2 ** 20;

/** The counts of this process since its last save. */
class UnsavedCounts {
  readonly #startsAt: number;
  readonly #tallies = new Map<string, Tally>();
  /** The devices in each tally, so that each is hashed once. */
  readonly #devices = new Map<string, Set<string>>();
  #operations = 0;
  isBeingSaved = false;

  constructor(now: number) {
    this.#startsAt = startOf("minute", now);
  }

  get isFull(): boolean {
    return this.#operations >= operationsMax;
  }

  tally(applicationId: string): Tally {
    let tally = this.#tallies.get(applicationId);
    if (tally === undefined) {
      tally = new Tally();
      this.#tallies.set(applicationId, tally);
    }
    return tally;
  }

  count(call: AnsweredCall): void {
    const { operation = notOperations.unknown, caller } = call;
    const client = caller !== undefined && "operatorId" in caller ? undefined : caller;
    const holder = client ?? (caller === undefined ? call.refused : undefined);
    if (holder?.isTest) return;
    const applicationId = holder?.applicationId ?? call.applicationId ?? "";
    const tally = this.tally(applicationId);
    const known = tally.operations.size;
    tally.count(operation, call);
    this.#operations += tally.operations.size - known;
    if (client === undefined) return;
    this.#countDevice(applicationId, client.deviceId, tally);
    if (call.batch !== undefined) return;
    tally.countKey(client.applicationKeyId, call.isSigned === true);
    if (call.origin !== undefined) tally.countOrigin(call.origin);
  }

  #countDevice(applicationId: string, deviceId: string, tally: Tally): void {
    let devices = this.#devices.get(applicationId);
    if (devices === undefined) {
      devices = new Set();
      this.#devices.set(applicationId, devices);
    }
    if (devices.has(deviceId)) return;
    if (devices.size >= devicesMax) devices.clear();
    devices.add(deviceId);
    tally.devices.add(hashOf(deviceId));
  }

  /** Returns a row for each application, and one for the deployment. */
  async toRows(writer: string): Promise<StatisticsRow[]> {
    if (this.#tallies.size === 0) return [];
    const interval = { span: spans.minute, starts_at: this.#startsAt, writer, is_pending: 1 };
    const toRow = (application_id: string, tally: Tally): StatisticsRow => {
      const { calls, failed: errors } = tally;
      return { application_id, ...interval, calls, errors, data: tally.write(rowBytesMax) };
    };
    const rows: StatisticsRow[] = [];
    const total = new Tally();
    const yieldToOthers = createYield();
    for (const [applicationId, tally] of this.#tallies) {
      total.merge(tally);
      total.joinApplications();
      if (applicationId !== "") rows.push(toRow(applicationId, tally));
      await yieldToOthers();
    }
    return [...rows, toRow("", total)];
  }
}

export function createStatistics(services: {
  readonly database: Database;
  readonly clock: Clock;
  readonly log: Log;
}): Statistics {
  const { database, clock, log } = services;
  const processId = randomBytes(8).toString("hex");
  let unsaved: UnsavedCounts | undefined;
  let saves = 0;
  let waiting: StatisticsRow[] = [];
  let saving = Promise.resolve();
  const versions = createVersionCounts(database);

  function current(): UnsavedCounts {
    unsaved ??= new UnsavedCounts(clock.now());
    return unsaved;
  }

  async function saveNow(): Promise<void> {
    const counts = unsaved;
    unsaved = undefined;
    if (counts !== undefined) {
      saves += 1;
      waiting.push(...(await counts.toRows(`${processId}-${saves}`)));
    }
    try {
      while (waiting.length > 0) {
        await insertStatistics(waiting.slice(0, rowsPerStatement), database);
        waiting = waiting.slice(rowsPerStatement);
      }
      await versions.save();
    } catch (err) {
      waiting = newestRows(waiting);
      log.warn({ err }, "statistics could not be saved, which is retried in a minute");
    }
  }

  function save(): Promise<void> {
    saving = saving.then(saveNow);
    return saving;
  }

  return {
    save,
    count(call) {
      if (call.rehearsed !== undefined) return; // rehearsed errors are no measure of the application
      const counts = current();
      counts.count(call);
      if (!counts.isFull || counts.isBeingSaved) return;
      counts.isBeingSaved = true;
      void save();
    },
    countFile(applicationId, bytes) {
      const tally = current().tally(applicationId);
      tally.files += 1;
      tally.bytes += bytes;
    },
    countNew(applicationId, kind) {
      current().tally(applicationId)[kind] += 1;
    },
    countRegistration: (applicationId, keyId) => current().tally(applicationId).countRegistration(keyId),
    countPeak: (applicationId, limit, calls) => current().tally(applicationId).countPeak(limit, calls),
    countVersion(applicationId, appVersion, platform) {
      versions.add(applicationId, appVersion, platform, clock.now());
    },
    readKeys: (applicationId) => readKeys(applicationId, clock.now(), database.reads),
    readActivity: (applicationIds) => listActivity(applicationIds, clock.now(), database.reads),
    async readBusiest() {
      const busiest = await listBusiest(clock.now(), database.reads);
      return busiest.map(({ application_id }) => application_id);
    },
  };
}

/** Drops the oldest rows that exceed the bytes that may wait. */
function newestRows(rows: readonly StatisticsRow[]): StatisticsRow[] {
  let bytes = 0;
  const first = rows.findLastIndex(({ data }) => {
    bytes += data.length;
    return bytes > waitingBytesMax;
  });
  return rows.slice(first + 1);
}

/** 52 bits, evenly distributed (cyrb53 by bryc, public domain). */
function hashOf(text: string): number {
  let [high, low] = [0xdeadbeef, 0x41c6ce57];
  for (let index = 0; index < text.length; index += 1) {
    const code = text.charCodeAt(index);
    high = Math.imul(high ^ code, 2_654_435_761);
    low = Math.imul(low ^ code, 1_597_334_677);
  }
  high = Math.imul(high ^ (high >>> 16), 2_246_822_507) ^ Math.imul(low ^ (low >>> 13), 3_266_489_909);
  low = Math.imul(low ^ (low >>> 16), 2_246_822_507) ^ Math.imul(high ^ (high >>> 13), 3_266_489_909);
  return (low & 0xfffff) * 2 ** 32 + (high >>> 0);
}

/** Saves at the end of each minute, so that rows cover complete minutes. */
export function startStatistics({ statistics, clock }: { readonly statistics: Statistics; readonly clock: Clock }): {
  stop(): void;
} {
  let timer: NodeJS.Timeout;
  function schedule(): void {
    timer = setTimeout(
      () => {
        void statistics.save();
        schedule();
      },
      spans.minute - (clock.now() % spans.minute),
    ).unref();
  }
  schedule();
  return { stop: () => clearTimeout(timer) };
}

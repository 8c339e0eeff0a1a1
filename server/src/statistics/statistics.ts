import { randomBytes } from "node:crypto";
import type { Log } from "../config/log.ts";
import type { Database } from "../db/database.ts";
import { type AnsweredCall, notOperations } from "../http/request-observer.ts";
import type { Clock } from "../lib/clock.ts";
import { spans, startOf } from "../lib/spans.ts";
import { type Activity, listActivity } from "./statistics.activity.ts";
import { readKeys } from "./statistics.reading.ts";
import { insertStatistics, listBusiest, type StatisticsRow } from "./statistics.store.ts";
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

/** The counts of one application since the last save. */
interface Counted {
  readonly tally: Tally;
  /** The devices in the tally, so that each is hashed once. */
  readonly devices: Set<string>;
}

/** About 2 KB each. Above this number, they are saved before the minute is over. */
const operationsMax = 10_000;
/** About 50 bytes each, per application. */
const devicesMax = 1_000;
const rowBytesMax = 16_384;
const rowsPerStatement = 500;
/** The bytes that may wait while the database is unavailable; the oldest rows are dropped first. */
const waitingBytesMax = 16 * 2 ** 20;
/** Yields to the event loop after this much work. */
const workMsMax = 5;

export function createStatistics(services: {
  readonly database: Database;
  readonly clock: Clock;
  readonly log: Log;
}): Statistics {
  const { database, clock, log } = services;
  const processId = randomBytes(8).toString("hex");
  let counted = new Map<string, Counted>();
  let startsAt: number | undefined;
  let operations = 0;
  let isFull = false;
  let saves = 0;
  let waiting: StatisticsRow[] = [];
  let saving = Promise.resolve();
  const versions = createVersionCounts(database);

  function find(applicationId: string): Counted {
    let found = counted.get(applicationId);
    if (found === undefined) {
      startsAt ??= startOf("minute", clock.now());
      found = { tally: new Tally(), devices: new Set() };
      counted.set(applicationId, found);
    }
    return found;
  }

  /** Closes the current interval, and queues its rows for writing. */
  async function closeInterval(): Promise<void> {
    const [ended, starts_at] = [counted, startsAt];
    counted = new Map();
    startsAt = undefined;
    operations = 0;
    isFull = false;
    if (starts_at === undefined) return;
    saves += 1;
    const interval = { span: spans.minute, starts_at, writer: `${processId}-${saves}`, is_pending: 1 };
    const total = new Tally();
    let began = performance.now();
    function add(application_id: string, tally: Tally): void {
      const { calls, failed: errors } = tally;
      waiting.push({ application_id, ...interval, calls, errors, data: tally.write(rowBytesMax) });
    }
    for (const [applicationId, { tally }] of ended) {
      total.merge(tally);
      total.joinApplications();
      if (applicationId !== "") add(applicationId, tally);
      if (performance.now() - began < workMsMax) continue;
      await new Promise(setImmediate);
      began = performance.now();
    }
    add("", total);
  }

  async function writeRows(): Promise<void> {
    while (waiting.length > 0) {
      const rows = waiting.slice(0, rowsPerStatement);
      await insertStatistics(rows, database);
      waiting = waiting.slice(rows.length);
    }
  }

  function dropOldRows(): void {
    let bytes = 0;
    const first = waiting.findLastIndex(({ data }) => {
      bytes += data.length;
      return bytes > waitingBytesMax;
    });
    waiting = waiting.slice(first + 1);
  }

  async function saveNow(): Promise<void> {
    await closeInterval();
    try {
      await writeRows();
      await versions.save();
    } catch (err) {
      dropOldRows();
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
      const { operation = notOperations.unknown, caller } = call;
      const isOperator = caller !== undefined && "operatorId" in caller;
      const holder = isOperator ? undefined : (caller ?? call.refused);
      if (holder?.isTest) return;
      const { tally, devices } = find(holder?.applicationId ?? call.applicationId ?? "");
      const known = tally.operations.size;
      tally.count(operation, call);
      operations += tally.operations.size - known;
      if (caller !== undefined && !isOperator && call.batch === undefined) {
        tally.countKey(caller.applicationKeyId, call.isSigned === true);
        if (call.origin !== undefined) tally.countOrigin(call.origin);
      }
      if (caller !== undefined && !isOperator && !devices.has(caller.deviceId)) {
        if (devices.size >= devicesMax) devices.clear();
        devices.add(caller.deviceId);
        tally.devices.add(hashOf(caller.deviceId));
      }
      if (operations < operationsMax || isFull) return;
      isFull = true; // until the current save, if any, has finished
      void save();
    },
    countFile(applicationId, bytes) {
      const { tally } = find(applicationId);
      tally.files += 1;
      tally.bytes += bytes;
    },
    countPeak: (applicationId, limit, calls) => find(applicationId).tally.countPeak(limit, calls),
    countVersion(applicationId, appVersion, platform) {
      versions.add(applicationId, appVersion, platform, clock.now());
    },
    countRegistration: (applicationId, keyId) => find(applicationId).tally.countRegistration(keyId),
    readKeys: (applicationId) => readKeys(applicationId, clock.now(), database.reads),
    async readBusiest() {
      const busiest = await listBusiest(clock.now(), database.reads);
      return busiest.map(({ application_id }) => application_id);
    },
    readActivity: (applicationIds) => listActivity(applicationIds, clock.now(), database.reads),
    countNew(applicationId, kind) {
      find(applicationId).tally[kind] += 1;
    },
  };
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

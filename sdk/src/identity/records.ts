import type { Awaitable } from "../lib/awaitable.ts";
import { systemClock } from "../lib/clock.ts";
import { within } from "../lib/wait.ts";
import type { Store } from "./store.ts";

/** Records of the client in a store, below a prefix. No operation rejects: see `createRecords`. */
export interface Records {
  /** Returns undefined for a missing record, another version, or members whose types do not match the pattern. */
  read<T extends object>(name: string, pattern: T): Promise<T | undefined>;
  /** Without a record it removes the existing one. */
  write(name: string, record?: object): Promise<void>;
  /** Writes a record that is absent, atomically among tabs, and returns the current one. */
  claim<T extends object>(name: string, record: T): Promise<T>;
  remove(name: string): Promise<void>;
  /** The names that begin with a prefix, sorted. */
  list(prefix: string): Promise<string[]>;
}

export interface RecordsOptions {
  readonly store: Store;
  readonly prefix: string;
  /** Called once, with the first error of the store. */
  readonly onFailed: (error: unknown) => void;
  readonly onWarning: (message: string) => void;
  /** Runs work while no other tab runs work of that name, if the browser supports that. */
  readonly lock: <T>(name: string, work: () => Promise<T>) => Promise<T>;
  /** The failures that have been reported, which are not reported again. */
  readonly reported?: Set<string>;
}

const version = 1;
/** A store that takes longer counts as failed, so that no call waits for it. */
const storeMsMax = 5_000;
/** After that, the store is not asked for this time: a client asks it several times before its first call. */
const silentMs = 60_000;
const failed = Symbol();

/**
 * Reads and writes records. If the store fails, the values that were last read and written are used from memory, and
 * the next operation tries the store again.
 */
export function createRecords({
  store,
  prefix,
  onFailed,
  onWarning,
  lock,
  reported = new Set(),
}: RecordsOptions): Records {
  /** The contents of the store when it was last read or written. */
  const known = new Map<string, string | undefined>();
  /** Names whose last change did not reach the store. */
  const unwritten = new Set<string>();
  /** When the store did not answer. */
  let silentAt = Number.NEGATIVE_INFINITY;

  function once(name: string, report: () => void): void {
    if (!reported.has(name)) report();
    reported.add(name);
  }

  async function attempt<T>(work: () => Awaitable<T>): Promise<T | typeof failed> {
    if (Math.abs(systemClock.now() - silentAt) < silentMs) return failed;
    try {
      return await within(storeMsMax, systemClock, work, () => {
        silentAt = systemClock.now();
        throw new Error("The store does not answer.");
      });
    } catch (error) {
      once("", () => onFailed(error));
      return failed;
    }
  }

  /** Reads a record from the store unless memory has a newer one. Returns the current one. */
  async function ask<T extends object>(
    name: string,
    pattern: T,
    work: (key: string) => Awaitable<string | undefined>,
  ): Promise<T | undefined> {
    if (!unwritten.has(name)) {
      const found = await attempt(() => work(prefix + name));
      if (found !== failed && !unwritten.has(name)) known.set(name, found);
    }
    const text = known.get(name);
    if (text === undefined) return undefined;
    const record = parseRecord(text, pattern);
    if (!record) once(name, () => onWarning(`The stored record "${name}" cannot be read, and counts as absent.`));
    return record;
  }

  async function change(name: string, text: string | undefined): Promise<void> {
    const key = prefix + name;
    known.set(name, text);
    unwritten.add(name);
    const done = await attempt(() => (text === undefined ? store.delete(key) : store.set(key, text)));
    if (done !== failed && known.get(name) === text) unwritten.delete(name);
  }

  const textOf = (record: object) => JSON.stringify({ v: version, ...record });

  const records: Records = {
    read: (name, pattern) => ask(name, pattern, (key) => store.get(key)),
    write: (name, record) => change(name, record && textOf(record)),
    async claim(name, record) {
      const text = textOf(record);
      const put = (key: string) =>
        store.putIfAbsent?.(key, text) ??
        lock(key, async () => {
          if ((await store.get(key)) === undefined) await store.set(key, text);
          return store.get(key); // another tab may have set it in between: the last value is valid
        });
      const present = await ask(name, record, put);
      if (present) return present;
      await records.write(name, record);
      return (await records.read(name, record)) ?? record;
    },
    remove: (name) => change(name, undefined),
    async list(start) {
      const found = await attempt(() => store.list(prefix + start));
      const stored = found === failed ? known.keys() : found.map((key) => key.slice(prefix.length));
      const isGone = (name: string) => (found === failed || unwritten.has(name)) && known.get(name) === undefined;
      return [...new Set([...stored, ...unwritten])].filter((name) => name.startsWith(start) && !isGone(name)).sort();
    },
  };
  return records;
}

function parseRecord<T extends object>(text: string, pattern: T): T | undefined {
  try {
    const record = JSON.parse(text);
    const fits = ([member, value]: [string, unknown]) => typeof record[member] === typeof value;
    return record.v === version && Object.entries(pattern).every(fits) ? record : undefined;
  } catch {
    return undefined;
  }
}

import type { Awaitable } from "../lib/awaitable.ts";
import type { Store } from "./store.ts";

/** Records of the client in a store, below a prefix of their own. No operation rejects: see `createRecords`. */
export interface Records {
  /** Undefined also for a record of another version, or with members of other types than those of the pattern. */
  read<T extends object>(name: string, pattern: T): Promise<T | undefined>;
  write(name: string, record: object): Promise<void>;
  /** Writes a record that is absent, atomically among tabs, and returns the one that is there now. */
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
  /** Runs work while no other tab runs work of that name, where the browser can do that. */
  readonly lock: <T>(name: string, work: () => Promise<T>) => Promise<T>;
}

const version = 1;
/** A store that takes longer counts as failed, so that no call waits for it. */
const storeMsMax = 5_000;

/**
 * Reads and writes records. Where the store fails, what was read and written last is used from memory, and the next
 * operation tries the store again.
 */
export function createRecords({ store, prefix, onFailed, onWarning, lock }: RecordsOptions): Records {
  /** What the store held when it was last read or written. */
  const known = new Map<string, string | undefined>();
  /** Names whose last change did not reach the store. */
  const unwritten = new Set<string>();
  const reported = new Set<string>();

  async function attempt<T>(work: () => Awaitable<T>): Promise<{ readonly value: T } | undefined> {
    try {
      return { value: await withinTime(work) };
    } catch (error) {
      if (!reported.has("")) onFailed(error);
      reported.add("");
      return undefined;
    }
  }

  /** Asks the store for a value unless memory has a newer one. Returns what counts now. */
  async function ask(name: string, work: (key: string) => Awaitable<string | undefined>): Promise<string | undefined> {
    const found = unwritten.has(name) ? undefined : await attempt(() => work(prefix + name));
    if (found !== undefined && !unwritten.has(name)) known.set(name, found.value);
    return known.get(name);
  }

  async function change(name: string, text: string | undefined): Promise<void> {
    const key = prefix + name;
    known.set(name, text);
    unwritten.add(name);
    const done = await attempt(() => (text === undefined ? store.delete(key) : store.set(key, text)));
    if (done !== undefined && known.get(name) === text) unwritten.delete(name);
  }

  function parse<T extends object>(name: string, text: string | undefined, pattern: T): T | undefined {
    const record = text === undefined ? undefined : parseRecord(text, pattern);
    if (record === undefined && text !== undefined && !reported.has(name)) {
      reported.add(name);
      onWarning(`The stored record "${name}" cannot be read, and counts as absent.`);
    }
    return record;
  }

  async function putIfAbsent(key: string, text: string): Promise<string | undefined> {
    if (store.putIfAbsent !== undefined) return store.putIfAbsent(key, text);
    return lock(key, async () => {
      if ((await store.get(key)) === undefined) await store.set(key, text);
      return store.get(key); // another tab may have set it in between: the last one counts
    });
  }

  const records: Records = {
    read: async (name, pattern) => parse(name, await ask(name, (key) => store.get(key)), pattern),
    write: (name, record) => change(name, JSON.stringify({ v: version, ...record })),
    async claim(name, record) {
      const text = JSON.stringify({ v: version, ...record });
      const present = parse(name, await ask(name, (key) => putIfAbsent(key, text)), record);
      if (present !== undefined) return present;
      await records.write(name, record);
      return (await records.read(name, record)) ?? record;
    },
    remove: (name) => change(name, undefined),
    async list(start) {
      const found = await attempt(() => store.list(prefix + start));
      const stored = found?.value.map((key) => key.slice(prefix.length)) ?? known.keys();
      const isKnown = (name: string) => found === undefined || unwritten.has(name);
      return [...new Set([...stored, ...unwritten])]
        .filter((name) => name.startsWith(start) && !(isKnown(name) && known.get(name) === undefined))
        .sort();
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

function withinTime<T>(work: () => Awaitable<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const fail = () => reject(new Error(`The store did not answer within ${storeMsMax / 1_000} s.`));
    const timer = setTimeout(fail, storeMsMax);
    const run = async () => work();
    run()
      .finally(() => clearTimeout(timer))
      .then(resolve, reject);
  });
}

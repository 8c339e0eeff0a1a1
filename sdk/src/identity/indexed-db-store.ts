import type { Store } from "./store.ts";

/** The database, and its one object store. */
const name = "rollcall";

/** A store in the IndexedDB database `rollcall` of the origin; all tabs and workers of the origin share it. */
export function indexedDbStore(): Store {
  let opening: Promise<IDBDatabase> | undefined;

  /** Runs a transaction, again on a new connection if it failed: browsers close connections by themselves. */
  async function run<T>(mode: IDBTransactionMode, work: Work<T>, isRepeat = false): Promise<T> {
    opening ??= open(disconnect);
    const current = opening;
    try {
      return await transact(await current, mode, work);
    } catch (error) {
      if (opening === current) disconnect();
      if (isRepeat) throw error;
      return run(mode, work, true);
    }
  }

  function disconnect(): void {
    opening?.then(
      (database) => database.close(),
      () => {},
    );
    opening = undefined;
  }

  return {
    durability: "evictable",
    get: (key) => run<string | undefined>("readonly", (records, done) => read(records.get(key), done)),
    set: (key, value) => run<void>("readwrite", (records) => void records.put(value, key)),
    delete: (key) => run<void>("readwrite", (records) => void records.delete(key)),
    list: (prefix) =>
      run<string[]>("readonly", (records, done) => {
        const keys = IDBKeyRange.bound(prefix, `${prefix}\uffff`);
        read(records.getAllKeys(keys), (found) => done(found.map(String)));
      }),
    putIfAbsent: (key, value) =>
      run<string>("readwrite", (records, done) =>
        read<string | undefined>(records.get(key), (present) => {
          done(present ?? value);
          if (present === undefined) records.put(value, key);
        }),
      ),
  };
}

type Work<T> = (records: IDBObjectStore, done: (result: T) => void) => void;

function open(onClosed: () => void): Promise<IDBDatabase> {
  return new Promise((resolve, reject) => {
    const request = indexedDB.open(name, 1);
    request.onupgradeneeded = () => request.result.createObjectStore(name);
    request.onerror = () => reject(request.error);
    request.onsuccess = () => {
      const database = request.result;
      database.onclose = onClosed;
      database.onversionchange = onClosed; // another tab deletes the database: do not block it
      resolve(database);
    };
  });
}

/** Resolves when the transaction is complete, and thus on disk. */
function transact<T>(database: IDBDatabase, mode: IDBTransactionMode, work: Work<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const transaction = database.transaction(name, mode, { durability: "strict" });
    let result: T | undefined;
    transaction.oncomplete = () => resolve(result as T);
    transaction.onabort = () => reject(transaction.error);
    work(transaction.objectStore(name), (value) => {
      result = value;
    });
  });
}

function read<T>(request: IDBRequest<T>, then: (value: T) => void): void {
  request.onsuccess = () => then(request.result);
}

import type { Awaitable } from "../lib/awaitable.ts";

/** A stored value. */
export type Stored = string;

/**
 * Stores the device and the sessions of a client. Tabs, processes and clients of several applications can share a
 * store. If an operation rejects, calls still succeed: the client continues from memory and emits the event
 * `storeFailed`.
 */
export interface Store {
  get(key: string): Awaitable<Stored | undefined>;
  /** Once this resolves, the value survives a crash as far as `durability` promises. */
  set(key: string, value: Stored): Awaitable<void>;
  /** Does nothing if the key does not exist. */
  delete(key: string): Awaitable<void>;
  /** Returns the keys that begin with a prefix, sorted. */
  list(prefix: string): Awaitable<string[]>;
  /** Atomically sets a key if it does not exist, and returns its current value. */
  putIfAbsent?(key: string, value: Stored): Awaitable<Stored>;
  /** `memory`: lost when the process exits. `evictable`: the browser may delete it. `disk`: persistent. */
  readonly durability: "memory" | "evictable" | "disk";
}

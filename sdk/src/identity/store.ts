import type { Awaitable } from "../lib/awaitable.ts";

/** A value that a store keeps under a key. */
export type Stored = string;

/**
 * Stores the device and the sessions of a client. A store may be shared by tabs, processes and clients of several
 * applications. A rejected operation does not fail a call: the client continues from memory, with the event
 * `storeFailed`.
 */
export interface Store {
  get(key: string): Awaitable<Stored | undefined>;
  /** The value survives a crash when this resolves, as far as `durability` promises it. */
  set(key: string, value: Stored): Awaitable<void>;
  /** Does nothing if there is no such key. */
  delete(key: string): Awaitable<void>;
  /** The keys that begin with a prefix, sorted. */
  list(prefix: string): Awaitable<string[]>;
  /** Sets a key that is absent, atomically, and returns the current value. */
  putIfAbsent?(key: string, value: Stored): Awaitable<Stored>;
  /** `memory`: ends with the process. `evictable`: the browser may delete it. `disk`: stays. */
  readonly durability: "memory" | "evictable" | "disk";
}

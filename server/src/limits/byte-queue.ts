import type { Owner } from "../lib/owner.ts";
import type { ByteBudget, HeldBytes } from "./byte-budget.ts";

/** Work that needs bytes of the budget before it begins. */
export interface BytesTicket {
  readonly owner: Owner;
  readonly held: HeldBytes;
  /** Estimates the size; called as late as possible, because the estimate improves while the work waits. */
  bytes(): number;
  isGone(): boolean;
}

/**
 * Admits work while the budget has space, one entry per tick: round robin over applications, and over the callers of
 * each.
 */
export interface ByteQueue {
  /** Resolves when the bytes are held. @throws the error that `refuse` returns */
  wait(ticket: BytesTicket): Promise<void>;
}

interface Entry {
  readonly ticket: BytesTicket;
  begin(): void;
  drop(error: Error): void;
}

export function createByteQueue(settings: {
  readonly budget: ByteBudget;
  readonly waitMs: number;
  refuse(reason: "full" | "abandoned"): Error;
}): ByteQueue {
  const { budget, waitMs, refuse } = settings;
  /** In round-robin order: the first application is served next, and within it the first caller. */
  const applications = new Map<string, Map<string, Entry[]>>();
  let isScheduled = false;

  function schedule(): void {
    if (isScheduled || applications.size === 0) return;
    isScheduled = true;
    setImmediate(() => {
      isScheduled = false;
      if (beginNext()) schedule();
    });
  }
  budget.onRelease(schedule);

  /** @returns false when no waiting entry fits */
  function beginNext(): boolean {
    for (const callers of applications.values()) {
      for (const entries of callers.values()) {
        const entry = entries.find((each) => !abandonIfGone(each));
        if (entry === undefined || !entry.ticket.held.tryAdd(entry.ticket.bytes())) continue;
        remove(entry, true);
        entry.begin();
        return true;
      }
    }
    return false;
  }

  /**
   * Does not remove the entry, because `beginNext` iterates over its list. It is removed when its caller is served
   * next, or when it times out.
   */
  function abandonIfGone(entry: Entry): boolean {
    if (!entry.ticket.isGone()) return false;
    entry.drop(refuse("abandoned"));
    return true;
  }

  function remove(entry: Entry, hadTurn: boolean): void {
    const { application, caller } = entry.ticket.owner;
    const callers = applications.get(application);
    const entries = callers?.get(caller);
    if (callers === undefined || entries === undefined) return;
    const left = entries.filter((each) => each !== entry);
    if (hadTurn || left.length === 0) callers.delete(caller);
    if (left.length > 0) callers.set(caller, left);
    if (hadTurn || callers.size === 0) applications.delete(application);
    if (callers.size > 0) applications.set(application, callers);
  }

  return {
    wait: (ticket) =>
      new Promise((resolve, reject) => {
        const { application, caller } = ticket.owner;
        const expiry = setTimeout(() => {
          remove(entry, false);
          reject(refuse("full"));
        }, waitMs).unref();
        const entry: Entry = {
          ticket,
          begin() {
            clearTimeout(expiry);
            resolve();
          },
          drop: reject,
        };
        const callers = applications.get(application) ?? new Map<string, Entry[]>();
        applications.set(application, callers);
        const entries = callers.get(caller) ?? [];
        callers.set(caller, entries);
        entries.push(entry);
        schedule();
      }),
  };
}

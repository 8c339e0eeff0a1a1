import type { Clock } from "../lib/clock.ts";
import { type Stop, unlessStopped } from "../lib/stop.ts";

/** Why a gate is closed, and for how long. */
export interface Closing<Reason> {
  readonly reason: Reason;
  readonly retryAfterMs: number;
}

/** Reports how an attempt ended; `silent` is without an answer. */
export type Leave<Reason> = (outcome: Closing<Reason> | "answered" | "silent") => void;

/** Holds back the calls of one principal while the service would refuse them. */
export interface Gate<Reason> {
  readonly isOpen: boolean;
  /** For calls that have passed the open gate. */
  readonly leave: Leave<Reason>;
  /** Waits until the gate is open. Returns why the call must not wait, if it is closed for longer than it has time. */
  enter(deadline: number, stop: Stop): Promise<Leave<Reason> | Closing<Reason>>;
}

const waitingMax = 1000;

/** After its time, a closed gate lets one call through, and the others follow when that is answered. */
export function createGate<Reason>(clock: Clock): Gate<Reason> {
  let closing: Closing<Reason> | undefined;
  let until = 0;
  let waiting = 0;
  let isProbing = false;
  /** Resolves when the waiting calls have to look at the gate again, in their order. */
  let change: Promise<void> | undefined;
  let announce = () => {};

  function awaitChange(): Promise<void> {
    change ??= new Promise((resolve) => {
      announce = resolve;
      if (!isProbing) clock.after(until - clock.now(), resolve);
    });
    const current = change;
    return current.then(() => {
      if (change === current) change = undefined;
    });
  }

  function leave(outcome: Closing<Reason> | "answered" | "silent", isProbe = false): void {
    if (typeof outcome === "object") {
      const { retryAfterMs } = outcome;
      closing = outcome;
      until = Math.max(until, clock.now() + retryAfterMs + clock.random() * Math.max(1000, retryAfterMs / 10));
    } else if (isProbe && outcome === "answered") closing = undefined;
    if (!isProbe) return;
    isProbing = false;
    announce();
  }

  return {
    get isOpen() {
      return closing === undefined;
    },
    leave: (outcome) => leave(outcome),
    async enter(deadline, stop) {
      while (closing !== undefined) {
        const waitMs = until - clock.now();
        if (waitMs <= 0 && !isProbing) {
          isProbing = true;
          return (outcome) => leave(outcome, true);
        }
        if (until >= deadline || waiting >= waitingMax) return { ...closing, retryAfterMs: Math.max(0, waitMs) };
        waiting += 1;
        await unlessStopped(awaitChange(), stop).finally(() => {
          waiting -= 1;
        });
      }
      return (outcome) => leave(outcome);
    },
  };
}

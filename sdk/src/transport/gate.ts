import type { Clock } from "../lib/clock.ts";
import { unlessAborted } from "../lib/wait.ts";

/** Why a gate is closed, and for how long. */
export interface Closing<Reason> {
  readonly reason: Reason;
  readonly retryAfterMs: number;
}

/** Reports how an attempt ended; `silent` is without an answer. */
export type Leave<Reason> = (outcome: Closing<Reason> | "answered" | "silent") => void;

/** Holds back the calls of one principal while the service would refuse them. */
export interface Gate<Reason> {
  /** Waits until the gate is open. Returns why the call must not wait, if it is closed for longer than it has time. */
  enter(deadline: number, signal: AbortSignal): Promise<Leave<Reason> | Closing<Reason>>;
}

const waitingMax = 1000;

/** After its time, a closed gate lets one call through, and the others follow when that is answered. */
export function createGate<Reason>(clock: Clock): Gate<Reason> {
  let closing: Closing<Reason> | undefined;
  let until = 0;
  let isProbing = false;
  let cancelTimer = () => {};
  let waiting: ((isProbe: boolean) => void)[] = [];

  function close(by: Closing<Reason>): void {
    const spread = clock.random() * Math.max(1000, by.retryAfterMs / 10);
    closing = by;
    until = Math.max(until, clock.now() + by.retryAfterMs + spread);
    setTimer();
  }

  function setTimer(): void {
    cancelTimer();
    cancelTimer = waiting.length > 0 && !isProbing ? clock.after(until - clock.now(), letNextTry) : () => {};
  }

  function letNextTry(): void {
    const next = waiting.shift();
    isProbing = next !== undefined;
    next?.(true);
  }

  function open(): void {
    closing = undefined;
    const released = waiting;
    waiting = [];
    for (const release of released) release(false);
  }

  function leave(outcome: Closing<Reason> | "answered" | "silent", isProbe: boolean): void {
    if (isProbe) isProbing = false;
    if (typeof outcome === "object") close(outcome);
    else if (isProbe && outcome === "silent") letNextTry();
    else if (isProbe) open();
  }

  return {
    async enter(deadline, signal) {
      if (closing === undefined) return (outcome) => leave(outcome, false);
      const wait = until - clock.now();
      if (wait <= 0 && !isProbing) {
        isProbing = true;
        return (outcome) => leave(outcome, true);
      }
      if (until >= deadline || waiting.length >= waitingMax) return { ...closing, retryAfterMs: Math.max(0, wait) };
      let release: (isProbe: boolean) => void = () => {};
      const released = new Promise<boolean>((resolve) => {
        release = resolve;
      });
      waiting.push(release);
      if (waiting.length === 1) setTimer();
      try {
        const isProbe = await unlessAborted(released, signal);
        return (outcome) => leave(outcome, isProbe);
      } catch (error) {
        const position = waiting.indexOf(release);
        if (position >= 0) waiting.splice(position, 1);
        else if (await released) leave("silent", true);
        throw error;
      }
    },
  };
}

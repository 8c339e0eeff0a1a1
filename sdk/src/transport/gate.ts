import type { Clock } from "../lib/clock.ts";
import type { Judged } from "./answer.ts";
import type { Run } from "./limits.ts";

/** Holds back the calls of one principal while the service would refuse them. */
export interface Gate {
  /** The reason why calls are held back; undefined while the gate is open. */
  readonly closing: Judged | undefined;
  /**
   * Waits until the gate is open, or the call is the one that goes first, which is a probe.
   *
   * @throws the error of `refuse` if the gate is closed for longer than the call has time
   */
  enter(deadline: number, run: Run, refuse: (closing: Judged, waitMs: number) => unknown): Promise<boolean>;
  /** Records the result of an attempt of an admitted call; without a status it had no response. */
  leave(judged: Judged | undefined, isProbe: boolean): void;
}

const waitingMax = 1000;

/** Adds jitter to the delay that the service requires, so that clients do not retry simultaneously. */
export function spread(ms: number, clock: Clock): number {
  return ms + clock.random() * Math.max(1000, ms / 10);
}

/** A circuit breaker: when the delay is over, one call probes the service, and its response releases the others. */
export function createGate(clock: Clock): Gate {
  const waiting = new Set<() => void>();
  let until = 0;
  let isProbing = false;
  const gate: { -readonly [Member in keyof Gate]: Gate[Member] } = {
    closing: undefined,
    async enter(deadline, run, refuse) {
      while (gate.closing) {
        const waitMs = until - clock.now();
        if (waitMs <= 0 && !isProbing) {
          isProbing = true;
          return true;
        }
        if (until >= deadline || waiting.size >= waitingMax) throw refuse(gate.closing, Math.max(0, waitMs));
        await new Promise<void>((resolve) => {
          const cancel = isProbing ? () => {} : clock.after(waitMs, () => run.wake());
          run.wake = () => {
            cancel();
            waiting.delete(run.wake);
            resolve();
          };
          waiting.add(run.wake);
        });
        run.check();
      }
      return false;
    },
    leave(judged, isProbe) {
      if (judged?.closesGate) {
        gate.closing = judged;
        until = Math.max(until, clock.now() + spread(judged.retryAfterMs ?? 0, clock));
      } else if (isProbe && judged?.status) gate.closing = undefined;
      if (!isProbe) return;
      isProbing = false;
      for (const wake of [...waiting]) wake();
    },
  };
  return gate;
}

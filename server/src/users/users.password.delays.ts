import { setTimeout } from "node:timers/promises";
import { ApiError } from "../lib/errors.ts";

/**
 * Every request is answered after this time, which is longer than the work takes, so that timing does not reveal which
 * users exist.
 */
export const answerAfterMs = 200;
/** Maximum number of requests of one application that wait for their answer. */
const waitingPerApplicationMax = 64;

/** Delays the answers to requests for a reset code. The counters are per process. */
export interface ResetDelays {
  /** @throws ApiError ServiceUnavailable when too many requests of the application wait */
  requireSlot(applicationId: string): void;
  /** Resolves when the request may be answered. */
  wait(applicationId: string): Promise<void>;
}

export function createResetDelays(): ResetDelays {
  const waiting = new Map<string, number>();
  return {
    requireSlot(applicationId) {
      // Counts requests, because the number of mails would reveal which users exist.
      if ((waiting.get(applicationId) ?? 0) >= waitingPerApplicationMax) {
        throw new ApiError("ServiceUnavailable", "Too many password resets are in progress. Try again.");
      }
    },
    async wait(applicationId) {
      waiting.set(applicationId, (waiting.get(applicationId) ?? 0) + 1);
      await setTimeout(answerAfterMs);
      const left = (waiting.get(applicationId) ?? 1) - 1;
      if (left === 0) waiting.delete(applicationId);
      else waiting.set(applicationId, left);
    },
  };
}

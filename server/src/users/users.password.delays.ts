import { setTimeout } from "node:timers/promises";
import { ApiError } from "../lib/errors.ts";

/**
 * Every request is answered after this time, longer than the work takes, so that timing does not reveal who has an
 * account.
 */
export const answerAfterMs = 200;
/** Requests of one application that may wait for their answer. */
const waitingPerApplicationMax = 64;

/** Delays the answers to requests for a reset code, with counters in the memory of this process. */
export interface ResetDelays {
  /** @throws ApiError ServiceUnavailable when too many requests of the application wait for their answer */
  requireSlot(applicationId: string): void;
  /** Resolves when a request of the application may be answered. */
  wait(applicationId: string): Promise<void>;
}

export function createResetDelays(): ResetDelays {
  const waiting = new Map<string, number>();
  return {
    requireSlot(applicationId) {
      // Counts requests, not mails, because the number of mails would reveal which users exist.
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

import { setImmediate as nextTick } from "node:timers/promises";
import { Abandoned, type WaitForStep } from "../lib/call-work.ts";
import { FairQueue, unboundedLane } from "./fair-queue.ts";

const steps = new FairQueue({ runningMax: 1, lanes: { step: unboundedLane }, refuse: () => new Abandoned() });

/**
 * Spreads the steps of long work over ticks: one step per tick in the process. However many long calls run
 * concurrently, a short call waits for only one step of one of them.
 *
 * @throws Abandoned
 */
export const waitForStep: WaitForStep = (owner, isGone) =>
  steps.run({ lane: "step", ...owner, isWanted: () => !isGone() }, () => nextTick());

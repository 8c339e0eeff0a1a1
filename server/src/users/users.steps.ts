import type { Background } from "../background.ts";

/**
 * How many steps of follow-up work run before the answer; the rest runs in the background. This is enough to erase a
 * user with a few rows in each table.
 */
const stepsBeforeAnswer = 14;

/** Runs the first steps of follow-up work now, and the rest after the answer. */
export type InSteps = (
  name: string,
  work: (limits: { stepsMax?: number; signal?: AbortSignal }) => Promise<boolean>,
) => Promise<void>;

export function createInSteps(background: Background): InSteps {
  return async (name, work) => {
    // The change itself is committed: a failure here must not turn its answer into an error.
    const isDone = await work({ stepsMax: stepsBeforeAnswer }).catch(() => false);
    if (isDone) return;
    background.run(name, async (signal) => {
      await work({ signal });
    });
  };
}

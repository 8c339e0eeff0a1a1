import type { CommandServices } from "../operations/services.ts";

/**
 * The number of steps of follow-up work that run before the answer; the rest runs in the background. This is enough to
 * erase a user with a few rows in each table.
 */
const stepsBeforeAnswer = 14;

export interface StepLimits {
  stepsMax?: number;
  signal?: AbortSignal;
}

/** Runs the first steps of follow-up work now, and the rest after the answer. */
export async function runInSteps(
  name: string,
  work: (limits: StepLimits) => Promise<boolean>,
  { background }: CommandServices,
): Promise<void> {
  // The change itself is committed: a failure here must not turn its answer into an error.
  const isDone = await work({ stepsMax: stepsBeforeAnswer }).catch(() => false);
  if (isDone) return;
  background.run(name, async (signal) => {
    await work({ signal });
  });
}

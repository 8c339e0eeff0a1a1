import type { CommandServices } from "../operations/services.ts";

/**
 * The number of steps of follow-up work before the response; the rest runs in the background. Enough to erase a user
 * with a few rows in each table.
 */
const stepsBeforeAnswer = 14;

export interface StepLimits {
  stepsMax?: number;
  signal?: AbortSignal;
}

/** Runs the first steps of follow-up work now, and the rest after the response. */
export async function runInSteps(
  name: string,
  work: (limits: StepLimits) => Promise<boolean>,
  { background }: CommandServices,
): Promise<void> {
  // The change is committed, so a failure here must not turn its response into an error.
  const isDone = await work({ stepsMax: stepsBeforeAnswer }).catch(() => false);
  if (isDone) return;
  background.run(name, async (signal) => {
    await work({ signal });
  });
}

import type { Background } from "../background.ts";

/** So much of what a change brings with it is done before it is answered; the rest follows. */
const stepsBeforeAnswer = 8;

/** Does the first steps of some work now, and the others after the answer. */
export type InSteps = (
  name: string,
  work: (limits: { stepsMax?: number; signal?: AbortSignal }) => Promise<boolean>,
) => Promise<void>;

export function createInSteps(background: Background): InSteps {
  return async (name, work) => {
    // What it follows from has been written: whatever happens here, the answer is that it was.
    const isDone = await work({ stepsMax: stepsBeforeAnswer }).catch(() => false);
    if (isDone) return;
    background.run(name, async (signal) => {
      await work({ signal });
    });
  };
}

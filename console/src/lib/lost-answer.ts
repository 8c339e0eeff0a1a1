import { CallError } from "./call-error.ts";

/**
 * Runs a call that creates an object with a secret. If the response is lost, the server may have created the object, but
 * the secret is lost: the error explains the next step.
 */
export async function explainLoss<Result>(run: () => Promise<Result>, remedy: string): Promise<Result> {
  try {
    return await run();
  } catch (error) {
    if (!isLoss(error)) throw error;
    const { status, condition, message } = error;
    throw new CallError(status, { error: condition, message: `${message} ${remedy}` });
  }
}

/** Whether the server may have performed a call that failed: a refusal has a number. */
export function isLoss(error: unknown): error is CallError {
  return error instanceof CallError && error.number === undefined;
}

import { CallError } from "./call-error.ts";

/**
 * Runs a call that creates something with a secret. If its answer is lost, the server may have created it, and the secret
 * is lost, too: the error says what to do then.
 */
export async function explainLoss<Result>(run: () => Promise<Result>, remedy: string): Promise<Result> {
  try {
    return await run();
  } catch (error) {
    if (!(error instanceof CallError) || error.number !== undefined) throw error; // a refusal: nothing was created
    const { status, condition, message } = error;
    throw new CallError(status, { error: condition, message: `${message} ${remedy}` });
  }
}

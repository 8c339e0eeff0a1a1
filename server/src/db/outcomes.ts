/** The result or error of some work, to be passed on later. */
export type Outcome<T = unknown> = { readonly value: T } | { readonly error: unknown };
/** Outcomes of work that ran outside the transaction, which must not repeat when the rest runs again. */
export type Outcomes = Map<string, Outcome>;

export async function outcomeOf<T>(work: () => Promise<T>): Promise<Outcome<T>> {
  try {
    return { value: await work() };
  } catch (error) {
    return { error };
  }
}

/** Returns the value of an outcome. @throws the error of an outcome */
export function settle<T>(outcome: Outcome<T>): T {
  if ("error" in outcome) throw outcome.error;
  return outcome.value;
}

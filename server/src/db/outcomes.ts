/** What came of some work, to be passed on later. */
export type Outcome<T = unknown> = { readonly value: T } | { readonly error: unknown };
/** What was done apart, so that it is done once however often the rest is run. */
export type Outcomes = Map<string, Outcome>;

export async function outcomeOf<T>(work: () => Promise<T>): Promise<Outcome<T>> {
  try {
    return { value: await work() };
  } catch (error) {
    return { error };
  }
}

/** Goes on as the work itself would have. @throws what it threw */
export function settle<T>(outcome: Outcome<T>): T {
  if ("error" in outcome) throw outcome.error;
  return outcome.value;
}

/** The parameters of the last address that its page does not have, until a notice has named them. */
let dropped: readonly string[] = [];
let lastReport = "";
const listeners = new Set<() => void>();

/** Reports parameters of an address that are not used; once, however often the router reads the address. */
export function noteDropped(names: readonly string[]): void {
  const report = `${window.location.hash.split("?")[0]} ${names.join(" ")}`;
  if (report === lastReport) return;
  lastReport = report;
  dropped = names;
  for (const listener of listeners) listener();
}

/** Returns the reported parameters once. */
export function takeDropped(): readonly string[] {
  const taken = dropped;
  dropped = [];
  return taken;
}

/** Calls the listener for each report. */
export function onDropped(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

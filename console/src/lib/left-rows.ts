/** The row whose page an operator has opened, and how far its list was scrolled. */
interface LeftRow {
  readonly id: string;
  readonly offset: number;
}

const entriesMax = 50;
/** By the entry of the browser's history, which is the same again when the operator goes back. */
const left = new Map<string, LeftRow>();

/** Remembers a row before the page of the list is left. In memory, so that a reload begins at the top. */
export function leaveRow(row: LeftRow): void {
  const entry = historyEntry();
  left.delete(entry);
  left.set(entry, row);
  const [oldest] = left.keys();
  if (left.size > entriesMax && oldest !== undefined) left.delete(oldest);
}

/** The row from whose page the operator comes back. */
export function takeLeftRow(): LeftRow | undefined {
  const entry = historyEntry();
  const row = left.get(entry);
  left.delete(entry);
  return row;
}

/** The router gives each history entry a unique key, except for a typed address. */
function historyEntry(): string {
  const state: unknown = window.history.state;
  const hasKey = typeof state === "object" && state !== null && "__TSR_key" in state;
  return hasKey ? String(state.__TSR_key) : window.location.hash;
}

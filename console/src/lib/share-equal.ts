/**
 * Returns `after` with the parts of `before` that are equal, so that React does not render them again. The query client's own
 * function takes every `Date` for a change.
 */
export function shareEqual(before: unknown, after: unknown): unknown {
  if (before === after) return before;
  if (before instanceof Date && after instanceof Date) return before.getTime() === after.getTime() ? before : after;
  if (!hasMembers(before) || !hasMembers(after) || Array.isArray(before) !== Array.isArray(after)) return after;
  const names = Object.keys(after);
  const shared = names.map((name) => [name, shareEqual(before[name], after[name])] as const);
  const isEqual = shared.every(([name, value]) => name in before && value === before[name]);
  if (isEqual && names.length === Object.keys(before).length) return before;
  return Array.isArray(after) ? shared.map(([, value]) => value) : Object.fromEntries(shared);
}

/** Whether it is an array or an object of JSON. */
function hasMembers(value: unknown): value is Record<string, unknown> {
  return Array.isArray(value) || (value instanceof Object && Object.getPrototypeOf(value) === Object.prototype);
}

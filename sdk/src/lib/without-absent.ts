/** Omits the members that are undefined, so that an app that lists an object sees only existing members. */
export function withoutAbsent<T extends object>(members: T): { [Name in keyof T]: Exclude<T[Name], undefined> } {
  const present = Object.entries(members).filter(([, value]) => value !== undefined);
  return Object.fromEntries(present) as { [Name in keyof T]: Exclude<T[Name], undefined> };
}

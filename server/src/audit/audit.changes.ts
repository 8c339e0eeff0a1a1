import type { Call } from "../contract/call.ts";

/**
 * The values before and after a change, by member; `from` is absent for a member that was not set, `to` for one that is
 * no longer set.
 */
export type Changes = Readonly<Record<string, { readonly from?: Shown; readonly to?: Shown }>>;
type Shown = string | number | boolean;

const noted = new WeakMap<Call, Changes>();

/** How the values of a member are shown, if not unchanged. */
type Show = Readonly<Record<string, (text: string) => string>>;

/**
 * Records the changes of an operator's call for its entry in the audit log (spec/operators#changes-in-the-audit-log).
 * The values must contain neither secrets nor texts of users. A retried transaction records its changes again.
 */
export function noteChanges(call: Call, before: object, after: object, show: Show = {}): void {
  const changes = findChanges(new Map(Object.entries(before)), new Map(Object.entries(after)), show);
  if (Object.keys(changes).length === 0) noted.delete(call);
  else noted.set(call, bounded(changes));
}

export function notedChanges(call: Call): Changes | undefined {
  return noted.get(call);
}

function findChanges(before: ReadonlyMap<string, unknown>, after: ReadonlyMap<string, unknown>, show: Show): Changes {
  const members = [...new Set([...before.keys(), ...after.keys()])];
  const changed = members.filter((name) => JSON.stringify(before.get(name)) !== JSON.stringify(after.get(name)));
  return Object.fromEntries(
    changed.map((name) => {
      const [from, to] = [before, after].map((values) => shown(values.get(name), show[name]));
      return [name, { ...(from !== undefined && { from }), ...(to !== undefined && { to }) }];
    }),
  );
}

/** Lists and objects are shown as JSON strings, so that no reader takes their members for members of the entry. */
function shown(value: unknown, show: (text: string) => string = (text) => text): Shown | undefined {
  if (value === undefined || value === null) return undefined;
  if (typeof value === "number" || typeof value === "boolean") return value;
  return show(typeof value === "string" ? value : JSON.stringify(value));
}

const charactersMax = 4_096;

/** Truncates the values of changes that exceed the bound together, each to the same length. */
function bounded(changes: Changes): Changes {
  if (JSON.stringify(changes).length <= charactersMax) return changes;
  const lengthMax = Math.floor(charactersMax / (4 * Object.keys(changes).length)); // quotes in them are escaped
  const cut = (value: Shown | undefined) => {
    if (typeof value !== "string" || value.length <= lengthMax) return value;
    return `${[...value].slice(0, lengthMax).join("")}…`;
  };
  return Object.fromEntries(
    Object.entries(changes).map(([name, { from, to }]) => {
      const [was, is] = [cut(from), cut(to)];
      return [name, { ...(was !== undefined && { from: was }), ...(is !== undefined && { to: is }) }];
    }),
  );
}

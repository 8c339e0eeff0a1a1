import type { AuditEntry } from "../api/admin.ts";

/** The name of an operation as words: "createOperatorSession" is "Create operator session", "changeOperatedUser" "Change user". */
export function wordsOf(action: string): string {
  const words = action
    .replace("Operated", "")
    .replaceAll(/(?<=[a-z0-9])(?=[A-Z])/g, " ")
    .toLowerCase();
  return words.slice(0, 1).toUpperCase() + words.slice(1);
}

export function actorName({ actor: { kind, id, name } }: AuditEntry): string {
  const others = { cli: "Command line", nobody: "Without a token", system: "The server" };
  return name ?? (kind in others ? others[kind as keyof typeof others] : (id ?? kind));
}

/** The condition that the call was refused with, if it was. */
export function refusalOf(entry: AuditEntry): string | undefined {
  const details: unknown = entry.details;
  if (typeof details !== "object" || details === null || !("error" in details)) return undefined;
  return typeof details.error === "string" ? details.error : undefined;
}

/** The values before and after a change, and the remaining details, without the members whose values are shown. */
export function partsOf(details: unknown) {
  const { changes, ...others } = isObject(details) ? details : {};
  const members = Object.entries(isObject(changes) ? changes : {}).map(([member, values]) => {
    const { from, to } = isObject(values) ? values : {};
    return { member, from, to };
  });
  const known = new Set(members.map(({ member }) => member));
  const rest = Object.entries(others).filter(([name, value]) => value !== "given" || !known.has(name));
  return { changes: members, others: Object.fromEntries(rest) };
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

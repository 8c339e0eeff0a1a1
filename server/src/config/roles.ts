/** The roles of operators; each includes the permissions of those before it. */
export const operatorRoles = ["viewer", "editor", "owner"] as const;

/** A viewer changes nothing, an editor everything except operators, an owner everything. */
export type OperatorRole = (typeof operatorRoles)[number];

/** Whether a role includes the permissions of another one. */
export function mayDo(role: OperatorRole, required: OperatorRole): boolean {
  return operatorRoles.indexOf(role) >= operatorRoles.indexOf(required);
}

/** Finds a role by name, in any case. */
export function parseRole(text: string): OperatorRole | undefined {
  return operatorRoles.find((role) => role === text.trim().toLowerCase());
}

/** The roles of operators. Each includes the permissions of the previous ones. */
export const operatorRoles = ["viewer", "editor", "owner"] as const;

/** A viewer can only read, an editor can change everything except operators, and an owner everything. */
export type OperatorRole = (typeof operatorRoles)[number];

/** Whether a role includes the permissions of `required`. */
export function mayDo(role: OperatorRole, required: OperatorRole): boolean {
  return operatorRoles.indexOf(role) >= operatorRoles.indexOf(required);
}

/** Finds a role by name, in any case. */
export function parseRole(text: string): OperatorRole | undefined {
  return operatorRoles.find((role) => role === text.trim().toLowerCase());
}

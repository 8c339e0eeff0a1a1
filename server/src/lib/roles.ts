/** What operators may do, each with all that those before it may. */
export const operatorRoles = ["viewer", "editor", "owner"] as const;

/** A viewer changes nothing, an editor everything but the operators, an owner those too. */
export type OperatorRole = (typeof operatorRoles)[number];

/** Whether who has a role may do what takes another one. */
export function mayDo(role: OperatorRole, required: OperatorRole): boolean {
  return operatorRoles.indexOf(role) >= operatorRoles.indexOf(required);
}

/** The role of that name, in any case. */
export function parseRole(text: string): OperatorRole | undefined {
  return operatorRoles.find((role) => role === text.trim().toLowerCase());
}

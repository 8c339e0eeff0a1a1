import type { ApplicationKey } from "../api/admin.ts";
import { formatExact, showInvisible } from "../lib/format.ts";

/** The display name of a key: its label, otherwise its creation time. */
export function nameOfKey({ label, created }: Pick<ApplicationKey, "label" | "created">): string {
  return label === undefined ? `unnamed, ${formatExact(created)}` : showInvisible(label);
}

/** The text that an operator types to confirm an action on a key. */
export function typedOfKey({ id, label }: Pick<ApplicationKey, "id" | "label">): string {
  return label === undefined ? id : showInvisible(label);
}

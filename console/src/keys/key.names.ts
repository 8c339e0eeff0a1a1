import type { Key } from "../api/keys.ts";
import { showInvisible } from "../lib/format.ts";

/** What an operator calls a key. */
export function nameOfKey({ id, label }: Pick<Key, "id" | "label">): string {
  return label === undefined ? id : showInvisible(label);
}

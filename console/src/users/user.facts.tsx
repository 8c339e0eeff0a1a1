import type { OperatedUser } from "../api/admin.ts";
import { showInvisible } from "../lib/format.ts";
import { Status } from "../ui/status.tsx";

export function UserState({ user: { disabled } }: { readonly user: OperatedUser }) {
  return disabled === undefined ? <Status kind="good">Active</Status> : <Status kind="warning">Disabled</Status>;
}

export function fullNameOf({ firstName, lastName }: OperatedUser): string | undefined {
  const name = [firstName, lastName].filter((part) => part !== undefined).join(" ");
  return name === "" ? undefined : showInvisible(name);
}

export function signInOf({ hasPassword }: OperatedUser): string {
  return hasPassword ? "Password" : "Identity provider";
}

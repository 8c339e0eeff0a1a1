import type { CrashGroup } from "../api/admin.ts";
import { showInvisible } from "../lib/format.ts";
import { Status } from "../ui/status.tsx";

const dayMs = 86_400_000;

/** The state of a crash as a word: an open one is new for a day. */
export function CrashState({ group }: { readonly group: CrashGroup }) {
  const { state, resolvedIn, reopened, firstSeen } = group;
  if (state === "ignored") return <Status kind="neutral">Ignored</Status>;
  if (state === "open") {
    if (reopened !== undefined) return <Status kind="warning">Came back</Status>;
    return <Status kind="notice">{Date.now() - firstSeen.getTime() < dayMs ? "New" : "Open"}</Status>;
  }
  return (
    <Status kind="good">{resolvedIn === undefined ? "Resolved" : `Resolved in ${showInvisible(resolvedIn)}`}</Status>
  );
}

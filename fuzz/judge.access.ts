import type { Actor } from "./actors.ts";
import type { Answer } from "./connection.ts";
import type { Operation } from "./document.ts";
import type { Fault } from "./envelopes.ts";
import type { Plan } from "./plan.ts";

/** Those of `disabledOperations` that are so for every object. */
export const switchedOff: ReadonlySet<string> = new Set(["createCheckin", "searchBlobs", "getOwnUser"]);

/** Nobody gets further than they may, whatever they say. */
export function judgeAccess(plan: Plan, operation: Operation | undefined, { status }: Answer): Fault[] {
  if (operation === undefined || operation.caller === "anyone" || plan.isSigned || status >= 300) return [];
  const { caller, isAuthentic } = plan;
  const lets = (who: string) => [{ kind: "let in", details: `${who} was let in` }];
  if (!isAuthentic || caller === undefined) return lets("who brings no good token");
  if ((operation.caller === "operator") !== (caller.kind === "operator")) return lets(`a ${caller.kind}`);
  if (operation.caller === "user" && caller.kind === "device") return lets("a device");
  if (caller.kind !== "operator" && caller.application.isNarrow && switchedOff.has(operation.id)) {
    return [{ kind: "switched off", details: `${operation.id} is, and was let in` }];
  }
  const isOwnBusiness = /\/(sessions\/current|operators\/me)$/.test(operation.path);
  const mayOnlyRead = caller.kind === "operator" && caller.role === "viewer";
  return mayOnlyRead && operation.method !== "GET" && !isOwnBusiness ? lets("a viewer") : [];
}

export function describeCaller(caller: Actor | undefined): string {
  if (caller === undefined) return "nobody";
  return caller.kind === "operator"
    ? `${caller.name} (${caller.role})`
    : `${caller.name} (${caller.kind} of ${caller.application.name})`;
}

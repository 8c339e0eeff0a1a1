import type { Actor } from "./actors.ts";
import type { Answer } from "./connection.ts";
import type { Operation } from "./document.ts";
import type { Fault } from "./envelopes.ts";
import type { Plan } from "./plan.ts";

/** The operations of `disabledOperations` that are disabled for every object. */
export const disabledEverywhere: ReadonlySet<string> = new Set(["createCheckin", "searchBlobs", "getOwnUser"]);

/** No caller may use an operation that its kind, role or token does not allow. */
export function judgeAccess(plan: Plan, operation: Operation | undefined, { status }: Answer): Fault[] {
  if (operation === undefined || operation.caller === "anyone" || plan.isSigned || status >= 300) return [];
  const { caller, isAuthentic } = plan;
  const allowed = (caller: string) => [{ kind: "access", details: `${caller} was allowed to call` }];
  if (!isAuthentic || caller === undefined) return allowed("a caller without a valid token");
  if ((operation.caller === "operator") !== (caller.kind === "operator")) return allowed(`a ${caller.kind}`);
  if (operation.caller === "user" && caller.kind === "device") return allowed("a device");
  if (caller.kind !== "operator" && caller.application.isNarrow && disabledEverywhere.has(operation.id)) {
    return [{ kind: "disabled", details: `${operation.id} is disabled, and succeeded` }];
  }
  const isOwnBusiness = /\/(sessions(\/\{sessionId\}|\/current(\/password)?)?|operators\/me)$/.test(operation.path);
  const mayOnlyRead = caller.kind === "operator" && caller.role === "viewer";
  return mayOnlyRead && operation.method !== "GET" && !isOwnBusiness ? allowed("a viewer") : [];
}

export function describeCaller(caller: Actor | undefined): string {
  if (caller === undefined) return "nobody";
  return caller.kind === "operator"
    ? `${caller.name} (${caller.role})`
    : `${caller.name} (${caller.kind} of ${caller.application.name})`;
}

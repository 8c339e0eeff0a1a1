import { mayDo, type OperatorRole } from "../config/roles.ts";
import type { Call } from "../contract/call.ts";
import { requireEnabled } from "../contract/policy.ts";
import { type AnyCaller, isClient, isOperator, type OperatorCaller, type Route, roleOf } from "../contract/route.ts";
import { ApiError } from "../lib/errors.ts";
import type { RateLimits } from "./rate-limits.ts";

/**
 * Admits a call: the operation is enabled, the operator has the role, and the caller is below its rate limit.
 *
 * @returns the caller's bucket, for the rest of its rate limit
 * @throws ApiError
 */
export function admit(
  route: Route,
  call: Call,
  caller: AnyCaller | undefined,
  rateLimits: RateLimits,
): ReturnType<RateLimits["admit"]> {
  const { admission } = call;
  if (admission?.isAdmitted) return undefined;
  if (isClient(caller)) requireEnabled(caller.policy, route, call.path, caller);
  if (isOperator(caller)) requireRole(route, caller);
  const admitted = rateLimits.admit(route, call, caller);
  if (admission === undefined) return admitted;
  if (!(admitted instanceof Promise)) {
    admission.isAdmitted = true;
    return admitted;
  }
  return admitted.then((bucket) => {
    admission.isAdmitted = true;
    return bucket;
  });
}

/** @throws ApiError AuthPasswordChangeRequired, ObjectPermissionDenied, AuthReauthenticationRequired */
export function requireRole(route: Route, { role, mustChangePassword, mustProve }: OperatorCaller): void {
  if (mustChangePassword && route.withFirstPassword !== true) throw new ApiError("AuthPasswordChangeRequired");
  requireAtLeast(roleOf(route), role);
  if (route.proof === "recent" && mustProve === true) {
    throw new ApiError("AuthReauthenticationRequired", undefined, { methods: ["password"] });
  }
}

/** @throws ApiError ObjectPermissionDenied */
export function requireRoleWithout(
  { roleWithout }: Route,
  { role }: OperatorCaller,
  read: Record<string, unknown>,
): void {
  if (roleWithout === undefined || read[roleWithout.parameter] !== undefined) return;
  requireAtLeast(roleWithout.role, role);
}

/** @throws ApiError ObjectPermissionDenied */
function requireAtLeast(required: OperatorRole, role: OperatorRole): void {
  if (!mayDo(role, required)) throw new ApiError("ObjectPermissionDenied", `This requires the role ${required}.`);
}

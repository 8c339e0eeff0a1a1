import type { Guessing, LockOut } from "../auth/guard/sign-in-guard.ts";
import type { Log } from "../config/log.ts";
import type { AuditEvent } from "./audit.events.ts";
import type { Audit } from "./audit.ts";

/** Logs, audits and counts the attacks that the sign-in guard detects. */
export interface SignInAlerts {
  readonly lockOuts: Readonly<Record<LockOut["scope"], number>>;
  readonly guessings: Readonly<Record<"user" | "operator", number>>;
  onLockOut(lockOut: LockOut): void;
  onGuessing(guessing: Guessing): void;
}

export function createSignInAlerts({ audit, log }: { readonly audit: Audit; readonly log: Log }): SignInAlerts {
  const lockOuts = { address: 0, origin: 0 };
  const guessings = { user: 0, operator: 0 };
  return {
    lockOuts,
    guessings,
    onLockOut(lockOut) {
      lockOuts[lockOut.scope] += 1;
      log.warn(describeLockOut(lockOut), "sign-ins are delayed");
      audit.note(lockOutEvent(lockOut)).catch((err) => log.warn({ err }, "a lock-out could not be audited"));
    },
    onGuessing(guessing) {
      guessings[guessing.applicationId === undefined ? "operator" : "user"] += 1;
      log.warn({ application: guessing.applicationId, failures: guessing.failures }, "password guessing detected");
      audit.note(guessingEvent(guessing)).catch((err) => log.warn({ err }, "password guessing could not be audited"));
    },
  };
}

/** Omits the sign-in name, which may belong to no user; the audited sign-in failures before it name the user. */
function lockOutEvent({ applicationId, deviceId, address, scope, waitMs }: LockOut): AuditEvent {
  return {
    actor: deviceId === undefined ? { kind: "nobody" } : { kind: "device", id: deviceId },
    action: "lockOut",
    applicationId,
    call: { address, requestId: "" },
    details: { scope, waitMs },
  };
}

/** Omits the sign-in name, as `lockOutEvent` does. */
function guessingEvent({ applicationId, failures }: Guessing): AuditEvent {
  return {
    actor: { kind: "nobody" },
    action: "passwordGuessing",
    applicationId,
    call: { address: "", requestId: "" },
    details: { failures },
  };
}

/** Omits the sign-in name, which may be a password in the wrong field. */
function describeLockOut({ applicationId, deviceId, address, scope, waitMs }: LockOut) {
  return { application: applicationId, device: deviceId, address, scope, wait_ms: waitMs };
}

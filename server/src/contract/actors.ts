import type { Actor } from "../lib/current-call.ts";
import type { AnyCaller, OperatorCaller } from "./route.ts";

/** The caller of operations that commands run: shell access to the deployment implies the role owner. */
export const systemOperator: OperatorCaller = {
  operatorId: "cli",
  name: "",
  role: "owner",
  mustChangePassword: false,
  sessionId: "",
};

/** The caller of internal reads, such as the ones for webhooks. */
export const systemReader: OperatorCaller = { ...systemOperator, operatorId: "system", role: "viewer" };

/** Returns the actor of a caller's actions. */
export function actorOf(caller: AnyCaller | undefined): Actor {
  if (caller === systemOperator) return { kind: "cli" };
  if (caller === undefined) return { kind: "nobody" };
  if ("operatorId" in caller) return { kind: "operator", id: caller.operatorId };
  const { deviceId, userId } = caller;
  return userId === undefined ? { kind: "device", id: deviceId } : { kind: "user", id: userId };
}

import type { Actor } from "../lib/actor.ts";
import type { AnyCaller, OperatorCaller } from "./route.ts";

/** The caller of the operations that commands run: shell access to the deployment implies the role owner. */
export const systemOperator: OperatorCaller = {
  operatorId: "cli",
  name: "",
  role: "owner",
  mustChangePassword: false,
  sessionId: "",
};

/** The caller of reads that no operator requested, such as those for webhooks. */
export const systemReader: OperatorCaller = { ...systemOperator, operatorId: "system", role: "viewer" };

/** The actor to whom the actions of a caller are attributed. */
export function actorOf(caller: AnyCaller | undefined): Actor {
  if (caller === systemOperator) return { kind: "cli" };
  if (caller === undefined) return { kind: "nobody" };
  if ("operatorId" in caller) return { kind: "operator", id: caller.operatorId };
  const { deviceId, userId } = caller;
  return userId === undefined ? { kind: "device", id: deviceId } : { kind: "user", id: userId };
}

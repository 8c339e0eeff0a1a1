/** The actor of an action, in the audit log and the event log. */
export interface Actor {
  readonly kind: ActorKind;
  /** Absent for kinds of actors without an id. */
  readonly id?: string;
}

export type ActorKind = "operator" | "user" | "device" | "cli" | "nobody" | "system";

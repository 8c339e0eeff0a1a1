/** The actor of an action, as the audit log and the event log name it. */
export interface Actor {
  readonly kind: ActorKind;
  /** Absent for kinds of actor without an id. */
  readonly id?: string;
}

export type ActorKind = "operator" | "user" | "device" | "cli" | "nobody" | "system";

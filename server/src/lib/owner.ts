/** The owner of work or memory, for fair shares: first by application, then by caller. */
export interface Owner {
  /** Empty for a caller without an application. */
  readonly application: string;
  readonly caller: string;
}

export type OwningCaller =
  | { readonly applicationId: string; readonly deviceId: string }
  | { readonly operatorId: string };

/** Returns the owner of a caller's work; callers without a token share an owner. */
export function ownerOf(caller: OwningCaller | undefined): Owner {
  if (caller === undefined) return { application: "", caller: "" };
  return "operatorId" in caller
    ? { application: "", caller: caller.operatorId }
    : { application: caller.applicationId, caller: caller.deviceId };
}

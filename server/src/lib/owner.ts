/** The owner of work or memory, for fair shares: first by application, then by caller. */
export interface Owner {
  /** Empty for a caller of no application. */
  readonly application: string;
  readonly caller: string;
}

export type OwningCaller =
  | { readonly applicationId: string; readonly deviceId: string }
  | { readonly operatorId: string };

/** The owner of the work of a caller; callers without a token share one. */
export function ownerOf(caller: OwningCaller | undefined): Owner {
  if (caller === undefined) return { application: "", caller: "" };
  return "operatorId" in caller
    ? { application: "", caller: caller.operatorId }
    : { application: caller.applicationId, caller: caller.deviceId };
}

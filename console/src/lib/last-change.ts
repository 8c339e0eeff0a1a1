let requestId: string | undefined;

/** Stores the `request_id` of the last change, for its toast. */
export function noteChange(id: string | undefined): void {
  requestId = id;
}

/** Returns the `request_id` of the last change once. */
export function takeChange(): string | undefined {
  const taken = requestId;
  requestId = undefined;
  return taken;
}

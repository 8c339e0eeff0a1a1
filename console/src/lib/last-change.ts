let requestId: string | undefined;

/** Keeps the `request_id` of a change that the server has made, for the message about it. */
export function noteChange(id: string | undefined): void {
  requestId = id;
}

/** Returns the `request_id` of the last change once. */
export function takeChange(): string | undefined {
  const taken = requestId;
  requestId = undefined;
  return taken;
}

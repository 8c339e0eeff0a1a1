/** Begins work for which no caller waits. A failure is not the caller's: whatever has to be known is an event. */
export function inBackground(work: Promise<unknown>): void {
  work.catch(() => {});
}

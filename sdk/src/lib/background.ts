/**
 * Starts work for which no caller waits. A failure does not reach the caller: the app is notified by an event if
 * necessary.
 */
export function inBackground(work: Promise<unknown>): void {
  work.catch(() => {});
}

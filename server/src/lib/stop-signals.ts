let current: ((signal: string) => void) | undefined;

/**
 * SIGTERM and SIGINT, one listener after the other. A terminal and a service manager tell every process, and so do npm and
 * a supervisor: it may be said several times.
 */
export function onStop(listener: (signal: string) => void): void {
  if (current === undefined) {
    for (const signal of ["SIGTERM", "SIGINT"] as const) process.on(signal, () => current?.(signal));
  }
  current = listener;
}

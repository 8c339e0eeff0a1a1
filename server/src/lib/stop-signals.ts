let current: ((signal: string) => void) | undefined;

/**
 * Sets the listener for SIGTERM and SIGINT, replacing the previous one. It may be called several times, because
 * terminals, service managers, npm and the supervisor all send signals.
 */
export function onStop(listener: (signal: string) => void): void {
  if (current === undefined) {
    for (const signal of ["SIGTERM", "SIGINT"] as const) process.on(signal, () => current?.(signal));
  }
  current = listener;
}

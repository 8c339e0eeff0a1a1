let current: ((signal: string) => void) | undefined;

/**
 * Sets the listener for SIGTERM and SIGINT, replacing the previous one. Terminals, service managers, npm and a
 * supervisor all send signals, so the listener may be called several times.
 */
export function onStop(listener: (signal: string) => void): void {
  if (current === undefined) {
    for (const signal of ["SIGTERM", "SIGINT"] as const) process.on(signal, () => current?.(signal));
  }
  current = listener;
}

/**
 * Measures the processor time of this process, in milliseconds, so that a test can have a time limit regardless of
 * other programs on the machine.
 */
export function processorTime(): () => number {
  const begun = process.cpuUsage();
  return () => {
    const { user, system } = process.cpuUsage(begun);
    return (user + system) / 1_000;
  };
}

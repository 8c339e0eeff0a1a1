/**
 * Starts to measure the processor time of this process, in milliseconds: other programs on the machine do not affect
 * it, so that a test can have a time limit.
 */
export function processorTime(): () => number {
  const begun = process.cpuUsage();
  return () => {
    const { user, system } = process.cpuUsage(begun);
    return (user + system) / 1_000;
  };
}

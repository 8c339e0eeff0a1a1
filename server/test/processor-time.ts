/**
 * Begins to measure what this process takes of a processor, in milliseconds: what else runs on the machine does not count,
 * so that a test of what would take minutes can have a limit.
 */
export function processorTime(): () => number {
  const begun = process.cpuUsage();
  return () => {
    const { user, system } = process.cpuUsage(begun);
    return (user + system) / 1_000;
  };
}

/** The variable that the supervisor sets for its workers. */
export const workerVariable = "ROLLCALL_WORKER";

/** The number of this worker, from 1; undefined in a process without a supervisor. */
export const workerNumber: number | undefined =
  process.send === undefined ? undefined : Number(process.env[workerVariable]) || undefined;

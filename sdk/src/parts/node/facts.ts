import os from "node:os";

/** The facts about the machine that a device reports. */
export interface NodeFacts {
  readonly model: string;
  readonly osVersion: string;
}

/** The model and the operating system of this machine, for the option `device` of `createRollcall`. */
export function nodeFacts(): NodeFacts {
  const [processor] = os.cpus();
  const model = processor?.model.trim() || os.machine();
  return { model: model.slice(0, 256), osVersion: `${os.type()} ${os.release()}`.slice(0, 256) };
}

import os from "node:os";

/** What a device reports about the machine that it is. */
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

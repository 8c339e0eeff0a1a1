import { AsyncLocalStorage } from "node:async_hooks";

/** What runs now, for who tells of a part of it: the request, the item of a batch, or what runs in the background. */
export interface CurrentCall {
  readonly requestId?: string;
  /** Known once the request has come to its route. */
  operation?: string | undefined;
  /** What it is in the background. */
  readonly work?: string;
  /** Where its parts are told of; undefined unless it is traced. */
  readonly trace?: TraceNode | undefined;
}

/** Something that takes time, in a trace. */
export interface TraceNode {
  /** Tells of a part that is over. @param startedAt as `performance.now()` has it */
  add(name: string, startedAt: number, attributes: TraceAttributes, failure?: unknown): void;
  /** Begins a part that has parts of its own. */
  begin(name: string, attributes: TraceAttributes): TraceNode;
  end(failure?: unknown): void;
}

/** By OpenTelemetry's names for them. No secrets, and nothing that a client sent but its path. */
export type TraceAttributes = Readonly<Record<string, string | number>>;

const current = new AsyncLocalStorage<CurrentCall | undefined>();

/** Undefined where nobody wants to know. */
export function currentCall(): CurrentCall | undefined {
  return current.getStore();
}

/** Runs work, and all that it waits for, as this. */
export function runInCall<T>(call: CurrentCall | undefined, work: () => T): T {
  return current.run(call, work);
}

/** Runs work as a part of what runs now, and tells of it where that is traced. */
export function runAsPart<T>(name: string, work: () => Promise<T>, attributes: TraceAttributes = {}): Promise<T> {
  const call = current.getStore();
  return call?.trace === undefined ? work() : runTraced(call, call.trace, name, attributes, work);
}

/** Runs a call inside of another one, as an item of a batch is. */
export function runAsInnerCall<T>(
  { requestId, operation }: { readonly requestId: string; readonly operation: string },
  work: () => Promise<T>,
): Promise<T> {
  const outer = current.getStore();
  if (outer === undefined) return work();
  const { trace } = outer;
  if (trace === undefined) return current.run({ requestId, operation }, work);
  return runTraced({ requestId, operation }, trace, operation, { "rollcall.request_id": requestId }, work);
}

async function runTraced<T>(
  call: CurrentCall,
  parent: TraceNode,
  name: string,
  attributes: TraceAttributes,
  work: () => Promise<T>,
): Promise<T> {
  const trace = parent.begin(name, attributes);
  try {
    const value = await current.run({ ...call, trace }, work);
    trace.end();
    return value;
  } catch (error) {
    trace.end(error);
    throw error;
  }
}

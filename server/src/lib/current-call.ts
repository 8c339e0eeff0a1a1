import { AsyncLocalStorage } from "node:async_hooks";

/** The current unit of work, for logs, traces and the actor of events: a request, an item of a batch, or background work. */
export interface CurrentCall {
  readonly requestId?: string;
  /** Set when the request reaches its route. */
  operation?: string | undefined;
  /** The name of background work. */
  readonly work?: string;
  /** The actor of its changes; absent in reads. */
  readonly actor?: Actor;
  /** Returns the address of the server that the client used; absent outside of requests, and where PUBLIC_URL is set. */
  readonly root?: (() => string | undefined) | undefined;
  /** The parent of the spans to record; undefined unless the call is traced. */
  readonly trace?: TraceNode | undefined;
}

/** A span in a trace. */
export interface TraceNode {
  /** Records a finished span. @param startedAt a `performance.now()` time */
  add(name: string, startedAt: number, attributes: TraceAttributes, failure?: unknown): void;
  /** Begins a child span that can have children. */
  begin(name: string, attributes: TraceAttributes): TraceNode;
  end(failure?: unknown): void;
}

/** OpenTelemetry attributes. They contain no secrets, and no client input except for the path. */
export type TraceAttributes = Readonly<Record<string, string | number>>;

const current = new AsyncLocalStorage<CurrentCall | undefined>();

/** Undefined in reads, unless calls are traced. */
export function currentCall(): CurrentCall | undefined {
  return current.getStore();
}

/** Runs work, including its asynchronous parts, as part of this call. */
export function runInCall<T>(call: CurrentCall | undefined, work: () => T): T {
  return current.run(call, work);
}

/** Runs work as an action of this actor. */
export function runAs<T>(actor: Actor, work: () => T): T {
  return current.run({ ...current.getStore(), actor }, work);
}

/** Runs work as a part of the current call, with a span if the call is traced. */
export function runAsPart<T>(name: string, work: () => Promise<T>, attributes: TraceAttributes = {}): Promise<T> {
  const call = current.getStore();
  return call?.trace === undefined ? work() : runTraced(call, call.trace, name, attributes, work);
}

/** Runs a call within another call, such as an item of a batch. */
export function runAsInnerCall<T>(
  { requestId, operation }: { readonly requestId: string; readonly operation: string },
  work: () => Promise<T>,
): Promise<T> {
  const outer = current.getStore();
  if (outer === undefined) return work();
  const { trace, root } = outer;
  if (trace === undefined) return current.run({ requestId, operation, root }, work);
  return runTraced({ requestId, operation, root }, trace, operation, { "rollcall.request_id": requestId }, work);
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

/** The actor of an action, in the audit log and the event log. */
export interface Actor {
  readonly kind: ActorKind;
  /** Absent for kinds of actors without an id. */
  readonly id?: string;
}

export type ActorKind = "operator" | "user" | "device" | "cli" | "nobody" | "system";

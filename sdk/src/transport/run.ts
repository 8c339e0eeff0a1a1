import type { Clock } from "../lib/clock.ts";
import type { Stop } from "../lib/stop.ts";
import type { AnyCall } from "../wire/call.ts";
import type { Failure, Repeatability } from "./answer.ts";
import type { Gate } from "./gate.ts";
import type { Interceptor } from "./interceptors.ts";
import type { Logger } from "./logger.ts";
import type { CallOptions, Signer, Timeouts, TransportOptions } from "./options.ts";
import type { Principal } from "./principal.ts";
import type { Budget } from "./repeats.ts";
import type { WireRequest } from "./request.ts";

/** What the calls of a client share. */
export interface Shared {
  readonly options: TransportOptions;
  readonly timeouts: { readonly [Name in keyof Timeouts]-?: number };
  readonly clock: Clock;
  readonly logger: Logger;
  /** The end of the client. */
  readonly closing: Stop;
  readonly interceptors: ReadonlySet<Interceptor>;
  readonly budget: Budget;
  gateOf(principal: Principal): Gate<Failure>;
  signer?: Signer;
}

/** What the attempts of a call have in common. */
export interface Run {
  readonly call: AnyCall;
  readonly options: CallOptions;
  readonly shared: Shared;
  readonly request: WireRequest;
  readonly repeatability: Repeatability;
  /** Ends the call. */
  readonly stop: Stop;
}

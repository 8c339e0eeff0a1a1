import type { Clock } from "../lib/clock.ts";
import type { Records } from "./records.ts";
import type { ServiceClock } from "./service-clock.ts";
import type { Change, SessionState, SharedState } from "./state.ts";
import type { Tabs } from "./tabs.ts";

/** Emits an event to the listeners of every client of the scope. */
export interface IdentityEvent {
  readonly type: Change["type"] | "deviceRejected" | "storeFailed" | "warning" | "ready";
  readonly session?: SessionState | undefined;
  readonly error?: unknown;
  /** Also for the logger. */
  readonly message?: string;
}

/** The shared parts that the device, the sessions and the outbox of a scope use. */
export interface ScopeParts {
  readonly store: Records;
  readonly secrets: Records;
  readonly state: SharedState;
  readonly tabs: Tabs;
  readonly clock: Clock;
  readonly serviceClock: ServiceClock;
  readonly notify: (event: IdentityEvent) => void;
}

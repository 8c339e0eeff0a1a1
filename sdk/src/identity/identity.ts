import { inBackground } from "../lib/background.ts";
import type { Clock } from "../lib/clock.ts";
import { createDevice, type Device } from "./device.ts";
import { createOutbox, type Outbox } from "./outbox.ts";
import { createRecords } from "./records.ts";
import { createServiceClock, type ServiceClock } from "./service-clock.ts";
import { createSessions, type Sessions } from "./sessions.ts";
import { type Change, createState, type SharedState } from "./state.ts";
import type { Store } from "./store.ts";
import { createTabs } from "./tabs.ts";

/** The device and the sessions of a scope, which its clients in this context share. */
export interface Identity {
  readonly state: SharedState;
  readonly device: Device;
  readonly sessions: Sessions;
  readonly outbox: Outbox;
  readonly serviceClock: ServiceClock;
  /** Stops following other tabs. What is stored stays. */
  close(): void;
}

/** What has happened, for the listeners of every client of the scope. */
export type IdentityEvent =
  | Change
  | { readonly type: "deviceRejected" | "storeFailed"; readonly error: unknown }
  | { readonly type: "warning"; readonly message: string };

export interface IdentityParts {
  /** Begins the keys of all records, and names the channel and the locks. */
  readonly scope: string;
  readonly store: Store;
  readonly secrets: Store;
  readonly clock: Clock;
  readonly onEvent: (event: IdentityEvent) => void;
}

export function createIdentity({ scope, store, secrets, clock, onEvent }: IdentityParts): Identity {
  const serviceClock = createServiceClock(clock);
  const onWarning = (message: string) => onEvent({ type: "warning", message });
  let hasFailed = false;
  const onFailed = (error: unknown) => {
    if (!hasFailed) onEvent({ type: "storeFailed", error });
    hasFailed = true;
  };
  /** The current session of this tab may be another one than that of the others. */
  const onChange = (change: Change) =>
    onEvent(change.type === "sessionChanged" ? { ...change, session: sessions.current } : change);
  const tabs = createTabs(scope, () => {
    if (state.now !== undefined) inBackground(state.refresh());
  });
  const recordsOf = (store: Store) =>
    createRecords({ store, prefix: scope, onFailed, onWarning, lock: (name, work) => tabs.lock(name, work) });
  const plain = recordsOf(store);
  const secret = secrets === store ? plain : recordsOf(secrets);
  const state: SharedState = createState({
    store: plain,
    secrets: secret,
    tabs,
    onChange: (changes) => changes.forEach(onChange),
  });
  const device = createDevice({
    store: plain,
    state,
    tabs,
    clock,
    serviceClock,
    onRejected: (error) => onEvent({ type: "deviceRejected", error }),
  });
  const outbox = createOutbox({ secrets: secret, clock, serviceClock, onDeviceToken: device.offer });
  const sessions: Sessions = createSessions({ state, device, outbox, tabs, clock, serviceClock, onChange, onWarning });
  return { state, device, sessions, outbox, serviceClock, close: tabs.close };
}

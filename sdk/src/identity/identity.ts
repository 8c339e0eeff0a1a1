import { inBackground } from "../lib/background.ts";
import type { Clock } from "../lib/clock.ts";
import { createDevice, type Device } from "./device.ts";
import { createOutbox, type Outbox } from "./outbox.ts";
import { createRecords } from "./records.ts";
import type { IdentityEvent } from "./scope-parts.ts";
import { createServiceClock, type ServiceClock } from "./service-clock.ts";
import { createSessions, type Sessions } from "./sessions.ts";
import { createState, type SharedState } from "./state.ts";
import type { Store } from "./store.ts";
import { createTabs } from "./tabs.ts";

/** The device and the sessions of a scope, which its clients in this context share. */
export interface Identity {
  readonly state: SharedState;
  readonly device: Device;
  readonly sessions: Sessions;
  readonly outbox: Outbox;
  readonly serviceClock: ServiceClock;
  /** Stops listening to other tabs and clears timers. Does not delete the stored records. */
  close(): void;
}

export interface IdentityParts {
  /** The prefix of the keys of all records, and of the names of the channel and the locks. */
  readonly scope: string;
  readonly store: Store;
  readonly secrets: Store;
  readonly clock: Clock;
  readonly onEvent: (event: IdentityEvent) => void;
}

export function createIdentity({ scope, store, secrets, clock, onEvent }: IdentityParts): Identity {
  const serviceClock = createServiceClock(clock);
  const reported = new Set<string>();
  const onFailed = (error: unknown) =>
    onEvent({ type: "storeFailed", error, message: "The store failed: the client goes on from memory." });
  /** The current session of this tab may differ from that of other tabs. */
  const notify = (event: IdentityEvent) =>
    onEvent(event.type === "sessionChanged" ? { ...event, session: sessions.current } : event);
  const tabs = createTabs(scope, () => {
    outbox.invalidate();
    if (state.now) inBackground(state.refresh());
  });
  const onWarning = (message: string) => notify({ type: "warning", message });
  const recordsOf = (store: Store) =>
    createRecords({ store, prefix: scope, onFailed, onWarning, lock: tabs.lock, reported });
  const plain = recordsOf(store);
  const secret = secrets === store ? plain : recordsOf(secrets);
  const state: SharedState = createState({ store: plain, secrets: secret, tabs, notify });
  const parts = { store: plain, secrets: secret, state, tabs, clock, serviceClock, notify };
  const device = createDevice(parts);
  const outbox = createOutbox(parts, device.offer);
  const sessions: Sessions = createSessions(parts, device, outbox);
  const close = () => {
    tabs.close();
    device.close();
  };
  return { state, device, sessions, outbox, serviceClock, close };
}

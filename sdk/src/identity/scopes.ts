import { type Clock, systemClock } from "../lib/clock.ts";
import { createIdentity, type Identity } from "./identity.ts";
import { indexedDbStore } from "./indexed-db-store.ts";
import { memoryStore } from "./memory-store.ts";
import type { IdentityOptions } from "./options.ts";
import type { IdentityEvent } from "./scope-parts.ts";
import type { Store } from "./store.ts";

/** A client's handle on the identity of its scope. */
export interface Membership {
  readonly identity: Identity;
  /** Whether another client of this context has the same scope. */
  readonly isShared: boolean;
  /** The prefix of the names that its tabs share; undefined if only this process uses the store. */
  readonly tabsName: string | undefined;
  /** Whether the state of the client is lost when the process exits, because the app has configured no store. */
  readonly isForgetful: boolean;
  /** Releases the handle; the last release closes the identity. */
  leave(): void;
}

interface Scope {
  readonly name: string;
  readonly store: Store;
  readonly identity: Identity;
  readonly listeners: Set<(event: IdentityEvent) => void>;
}

/** The scopes of one context, such as a page, a worker or a process. */
export interface Scopes {
  readonly clock: Clock;
  /** Joins the identity of a scope, which is an application at an address, in one store. */
  join(url: string, options: IdentityOptions, onEvent: (event: IdentityEvent) => void): Membership;
}

export function createScopes(clock: Clock = systemClock): Scopes {
  const scopes = new Set<Scope>();
  let defaultStore: Store | undefined;

  return {
    clock,
    join(url, options, onEvent) {
      const { appid, instance } = options;
      const own = instance === undefined ? "" : `${encodeURIComponent(instance)}:`;
      const name = `rollcall:${appid}:${encodeURIComponent(url)}:${own}`;
      defaultStore ??= typeof indexedDB === "undefined" ? memoryStore() : indexedDbStore();
      const { store = defaultStore, secrets = store } = options;
      let scope = [...scopes].find((other) => other.name === name && other.store === store);
      const isShared = scope !== undefined;
      if (scope === undefined) {
        const listeners: Scope["listeners"] = new Set();
        const notify = (event: IdentityEvent) => {
          for (const listener of listeners) listener(event);
        };
        const identity = createIdentity({ scope: name, store, secrets, clock, onEvent: notify });
        scope = { name, store, identity, listeners };
        scopes.add(scope);
      }
      const joined = scope;
      joined.listeners.add(onEvent);
      return {
        identity: joined.identity,
        isShared,
        tabsName: store.durability === "memory" ? undefined : name,
        isForgetful: options.store === undefined && store.durability === "memory",
        leave() {
          joined.listeners.delete(onEvent);
          if (joined.listeners.size > 0) return;
          scopes.delete(joined);
          joined.identity.close();
        },
      };
    },
  };
}

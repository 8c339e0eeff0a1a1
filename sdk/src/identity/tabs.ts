import { detach } from "../lib/clock.ts";

/**
 * Notifies the tabs of a scope of each other's changes. No call depends on it, because the store is read again before a
 * decision.
 */
export interface Tabs {
  /** Announces that a record has changed; its contents stay in the store. */
  announce(name: string): void;
  /**
   * Runs work while no other tab runs work of this name, to spare the service a request. Without Web Locks, or when the
   * lock is not free within three seconds, the work runs without it; so it does if it runs code of the app, which may hang.
   */
  lock<T>(name: string, work: () => Promise<T>, runsCodeOfApp?: boolean): Promise<T>;
  close(): void;
}

const lockMsMax = 3_000;

/** @param onChange called when another tab may have changed a record */
export function createTabs(scope: string, onChange: () => void): Tabs {
  const channel = openChannel(scope, onChange);
  const onVisible = () => {
    if (document.visibilityState === "visible") onChange();
  };
  const hasPage = typeof document !== "undefined";
  if (hasPage) document.addEventListener("visibilitychange", onVisible);

  return {
    announce(name) {
      try {
        channel?.postMessage(`changed: ${name}`);
      } catch {
        // The channel is closed, or fails as in Deno after another one of its name was closed: the store has the change.
      }
    },
    async lock(name, work, runsCodeOfApp = false) {
      const locks = (globalThis.navigator as Navigator | undefined)?.locks;
      if (!locks || runsCodeOfApp) return work();
      let isGranted = false;
      try {
        // A lock that is granted in time is not lost later.
        return await locks.request(`${scope}${name}`, { signal: AbortSignal.timeout(lockMsMax) }, () => {
          isGranted = true;
          return work();
        });
      } catch (error) {
        if (isGranted) throw error;
        return work();
      }
    },
    close() {
      channel?.close();
      if (hasPage) document.removeEventListener("visibilitychange", onVisible);
    },
  };
}

function openChannel(scope: string, onChange: () => void): BroadcastChannel | undefined {
  if (typeof BroadcastChannel === "undefined") return undefined;
  const channel = new BroadcastChannel(scope);
  channel.onmessage = onChange;
  // An open channel would keep a process of Node.js running.
  detach(channel);
  return channel;
}

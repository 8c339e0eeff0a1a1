import { detach } from "../lib/clock.ts";

/**
 * Notifies the other tabs of a scope of changes. No call depends on it, because the client reads the store before each
 * decision.
 */
export interface Tabs {
  /** Announces that a record has changed, without its contents. */
  announce(name: string): void;
  /**
   * Runs `work` under a Web Lock named `name`, so that tabs share one request. Without Web Locks, or if the lock is not
   * free within three seconds, runs it without the lock: the holder may be code of the app that hangs.
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
        // A closed channel is harmless, because the store has the change. Deno fails after another channel of this name closes.
      }
    },
    async lock(name, work, runsCodeOfApp = false) {
      const locks = (globalThis.navigator as Navigator | undefined)?.locks;
      if (!locks || runsCodeOfApp) return work();
      let isGranted = false;
      try {
        // Once granted, the lock must not time out.
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

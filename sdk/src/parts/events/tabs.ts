import type { FeedMessage } from "./feed.ts";
import type { EventFilter } from "./filters.ts";

/** The messages between tabs; one of them, the leader, has the connection. */
type TabMessage =
  | { readonly kind: "wanted"; readonly tab: string; readonly filters: readonly EventFilter[] }
  | { readonly kind: "leading" | "alive" }
  | { readonly kind: "refused"; readonly keys: readonly string[] }
  | { readonly kind: "feed"; readonly message: FeedMessage };

/** The tabs that share a connection; only this one if they cannot. */
export interface TabGroup {
  /** The filters of all tabs. */
  readonly wanted: readonly EventFilter[];
  /** Reports that the filters of this tab have changed. */
  change(): void;
  /** Hands a message of the feed to all tabs. Called by the leader. */
  share(message: FeedMessage): void;
  /** Reports to all tabs that the service does not accept some filters. Called by the leader. */
  refuse(keys: readonly string[]): void;
  leave(): void;
}

export interface TabGroupOptions {
  /** Undefined if this is the only tab. */
  readonly name: string | undefined;
  readonly own: () => readonly EventFilter[];
  /** Leads until the signal is aborted. Never rejects. */
  readonly lead: (signal: AbortSignal) => Promise<void>;
  /** Called in the leader when the filters of the tabs change. */
  readonly onWanted: () => void;
  readonly onRefused: (keys: readonly string[]) => void;
  readonly onMessage: (message: FeedMessage) => void;
}

/** A frozen leader does not answer; a busy one has this time to answer. */
const silenceMsMax = 10_000;
const pingMs = 10_000;

export function joinTabs({ name, own, lead, onWanted, onRefused, onMessage }: TabGroupOptions): TabGroup {
  const tab = crypto.getRandomValues(new Uint32Array(4)).join("-");
  const locks = typeof navigator === "undefined" ? undefined : navigator.locks;
  const canShare = name !== undefined && locks !== undefined && typeof BroadcastChannel !== "undefined";
  const channel = canShare ? new BroadcastChannel(name) : undefined;
  const leaving = new AbortController();
  const others = new Map<string, readonly EventFilter[]>();
  let leading: AbortController | undefined;
  let heardAt = Date.now();

  function post(message: TabMessage): void {
    channel?.postMessage(message);
  }

  function ask(): void {
    post({ kind: "wanted", tab, filters: own() });
  }

  async function leadUntilEnd(): Promise<void> {
    if (leaving.signal.aborted) return;
    const mine = new AbortController();
    leading?.abort();
    leading = mine;
    post({ kind: "leading" });
    await lead(mine.signal);
    if (leading === mine) leading = undefined;
  }

  /** Leads as soon as no other tab does; again after another one has taken the lock from this one. */
  async function waitForLock(): Promise<void> {
    if (locks === undefined || name === undefined || !canShare) return leadUntilEnd();
    while (!leaving.signal.aborted) {
      try {
        await locks.request(name, { signal: leaving.signal }, leadUntilEnd);
      } catch {
        leading?.abort();
      }
    }
  }

  /** Leads in place of a tab that does not answer. */
  async function takeLock(): Promise<void> {
    heardAt = Date.now();
    if (locks === undefined || name === undefined) return;
    try {
      await locks.request(name, { steal: true }, leadUntilEnd);
    } catch {
      leading?.abort();
    }
  }

  function receive({ data }: { readonly data: TabMessage }): void {
    heardAt = Date.now();
    if (data.kind === "wanted") {
      if (leading === undefined) return;
      post({ kind: "alive" });
      const isKnown = JSON.stringify(others.get(data.tab) ?? []) === JSON.stringify(data.filters);
      others.set(data.tab, data.filters);
      if (!isKnown) onWanted();
    } else if (data.kind === "leading") {
      // After a freeze, a former leader detects here that another tab leads.
      leading?.abort();
      ask();
    } else if (data.kind === "refused") onRefused(data.keys);
    else if (data.kind === "feed" && leading === undefined) onMessage(data.message);
  }

  function checkLeader(): void {
    const isHidden = typeof document !== "undefined" && document.visibilityState === "hidden";
    if (leading !== undefined || isHidden) return;
    const askedAt = Date.now();
    ask();
    setTimeout(() => {
      if (leading === undefined && heardAt < askedAt && !leaving.signal.aborted) takeLock();
    }, silenceMsMax);
  }

  const timer = channel && setInterval(checkLeader, pingMs);
  if (channel !== undefined) channel.onmessage = receive;
  waitForLock();
  ask();

  return {
    get wanted() {
      return [...own(), ...[...others.values()].flat()];
    },
    change() {
      if (leading === undefined) ask();
      else onWanted();
    },
    share(message) {
      onMessage(message);
      post({ kind: "feed", message });
    },
    refuse(keys) {
      post({ kind: "refused", keys });
      onRefused(keys);
    },
    leave() {
      leaving.abort();
      leading?.abort();
      post({ kind: "wanted", tab, filters: [] });
      clearInterval(timer);
      channel?.close();
    },
  };
}

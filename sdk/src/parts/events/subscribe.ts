import { listEvents } from "../../generated/calls.ts";
import type { Event } from "../../generated/types.ts";
import type { EventOf } from "../../identity/events.ts";
import { type HasInside, inside } from "../../identity/inside.ts";
import type { Session } from "../../identity/session.ts";
import { reportThrown } from "../../lib/events.ts";
import { printable } from "../../lib/printable.ts";
import type { Send } from "../../nouns/send.ts";
import { ConfigurationError, ServiceError, SessionEnded } from "../../wire/errors.ts";
import { type Feed, type FeedMessage, openFeed, type ResetReason } from "./feed.ts";
import { type EventFilter, isFor, keyOf, queryOf } from "./filters.ts";
import type { LiveEvent } from "./live-event.ts";
import { joinTabs, type TabGroup } from "./tabs.ts";

/** A client as a subscription needs it. */
export interface EventClient extends HasInside {
  readonly session: Session | null | undefined;
  ready(): Promise<void>;
  on(event: "signedOut", listener: (event: EventOf<"signedOut">) => void): () => void;
}

export interface SubscribeOptions extends EventFilter {
  /** A cursor of an earlier subscription, to receive the events since then. By default only new events. */
  readonly after?: string | undefined;
}

/** The callbacks of a subscription. Their errors are reported, and do not affect other subscriptions. */
export interface EventListener {
  /** Called for each event, in order. After a reconnect, the last events may be repeated with the same `id`. */
  event(event: LiveEvent, cursor: string): void;
  /** Called once, when the subscription is active: every later write is reported. */
  ready?(cursor: string): void;
  /** Called when events were missed: read all data again, then apply the events that follow. */
  reset?(reason: ResetReason): void;
  /** Called when no further events will arrive: the user has signed out, or the service refuses the subscription. */
  end?(error: unknown): void;
}

export interface Subscription {
  /** The cursor to continue from later, with the option `after`; undefined before the first response. */
  readonly cursor: string | undefined;
  stop(): void;
}

/** A subscription with its internal state. */
interface Entry {
  readonly filter: EventFilter;
  readonly key: string;
  readonly listener: EventListener;
  readonly end: AbortController;
  cursor: string | undefined;
  isReady: boolean;
  /** The events that have arrived while earlier events are being read. */
  waiting: FeedMessage[] | undefined;
  /** Ids of the last events. */
  seen: Set<string>;
}

/** The subscriptions of one user in one tab. */
interface Hub {
  add(entry: Entry): void;
  remove(entry: Entry): void;
}

const seenMax = 1_000;
const hubsName = "events";

/**
 * Receives events of the current user, or of the device where no user is signed in, as they happen. All subscriptions
 * of all tabs share one connection. It is opened again after each interruption, without a loss of events.
 *
 * @throws ConfigurationError if an argument is missing or of another kind
 */
export function subscribe(client: EventClient, options: SubscribeOptions, listener: EventListener): Subscription {
  checkArguments(client, options, listener);
  const { after, ...filter } = options;
  const entry: Entry = {
    filter,
    key: keyOf(filter),
    listener,
    end: new AbortController(),
    cursor: after,
    isReady: false,
    waiting: undefined,
    seen: new Set(),
  };
  const user = client.session;
  let hub: Hub | undefined;
  const start = async () => {
    await client.ready();
    if (entry.end.signal.aborted) return;
    // The current user; the store is read first only if it has not been read yet.
    hub = hubOf(client, (user === undefined ? client.session : user)?.userId);
    hub.add(entry);
  };
  start().catch((error) => call(() => listener.end?.(error)));
  return printable({
    get cursor() {
      return entry.cursor;
    },
    stop() {
      entry.end.abort();
      hub?.remove(entry);
    },
  });
}

function checkArguments(client: EventClient, options: SubscribeOptions, listener: EventListener): void {
  const wrong =
    (!client?.[inside] && "client") ||
    (!options && "options") ||
    (!Array.isArray(options.types ?? []) && "types") ||
    (!listener?.event && "listener");
  if (wrong) throw new ConfigurationError(`subscribe: ${wrong} is missing or wrong.`);
}

function hubOf(client: EventClient, userId: string | undefined): Hub {
  const { parts } = client[inside];
  const hubs = (parts.get(hubsName) ?? new Map()) as Map<string | undefined, Hub>;
  parts.set(hubsName, hubs);
  const found = hubs.get(userId) ?? createHub(client, userId, () => hubs.delete(userId));
  hubs.set(userId, found);
  return found;
}

function createHub(client: EventClient, userId: string | undefined, onClose: () => void): Hub {
  const { scope, send: sendFor, keepSession } = client[inside];
  const send: Send = (call, options) => sendFor(userId, call, options);
  const entries = new Set<Entry>();
  const name = scope === undefined ? undefined : `${scope}events:${userId ?? ""}`;
  let cursor: string | undefined;
  let feed: Feed | undefined;
  /** The last `ready` of the feed. */
  let covered: (FeedMessage & { readonly kind: "ready" }) | undefined;
  let tabs: TabGroup | undefined;
  /** Keys of the filters that the service does not accept. */
  const refused = new Set<string>();

  function requested(): ReadonlyMap<string, EventFilter> {
    const own = [...entries].map(({ filter }) => filter);
    return new Map((tabs?.wanted ?? own).map((filter) => [keyOf(filter), filter]));
  }

  const wanted = (): readonly EventFilter[] =>
    [...requested()].flatMap(([key, filter]) => (refused.has(key) ? [] : filter));

  async function lead(signal: AbortSignal): Promise<void> {
    const first = [...entries].find(({ key }) => !refused.has(key));
    const current = openFeed({
      send,
      filters: wanted,
      cursor: cursor ?? first?.cursor,
      onMessage: (message) => {
        if (signal.aborted) return;
        if (userId !== undefined) keepSession(userId); // renews the token of an app that makes no other calls
        tabs?.share(message);
      },
    });
    feed = current;
    signal.addEventListener("abort", current.stop);
    try {
      await current.ended;
    } catch (error) {
      const keys = error instanceof ServiceError ? await findRefused() : [];
      // Other tabs try independently, with the same result.
      if (keys.length === 0) return fail(error);
      for (const key of keys) refused.add(key);
      tabs?.refuse(keys);
      if (wanted().length > 0 && !signal.aborted) return lead(signal);
    } finally {
      if (feed === current) feed = undefined;
    }
  }

  /** The keys of the filters that the service refuses; empty if it refuses the connection for another reason. */
  async function findRefused(): Promise<readonly string[]> {
    const filters = wanted();
    if (filters.length === 1) return [];
    const found = await Promise.all(
      filters.map(async (filter) => ((await findRefusal(filter)) === undefined ? [] : [keyOf(filter)])),
    );
    return found.length === found.flat().length ? [] : found.flat();
  }

  async function findRefusal(filter: EventFilter): Promise<ServiceError | undefined> {
    try {
      await send(listEvents(queryOf(filter)));
    } catch (error) {
      if (error instanceof ServiceError && !error.isRetryable) return error;
    }
    return undefined;
  }

  /** Closes the subscriptions of this tab whose filters the service has refused. */
  function onRefused(keys: readonly string[]): void {
    for (const entry of entries) {
      if (!keys.includes(entry.key)) continue;
      remove(entry);
      void findRefusal(entry.filter).then((error) => call(() => entry.listener.end?.(error)));
    }
  }

  /** Connects again unless the feed has all requested events. */
  function onWanted(): void {
    const known = [...requested().keys()].filter((key) => refused.has(key));
    if (known.length > 0) tabs?.refuse(known);
    const isCovered = wanted().every((filter) => covered?.keys.includes(keyOf(filter)));
    if (covered === undefined || !isCovered) feed?.refresh();
    else if (cursor !== undefined) tabs?.share({ ...covered, cursor, reset: undefined });
  }

  function receive(message: FeedMessage): void {
    cursor = message.cursor;
    if (message.kind === "ready") covered = message;
    for (const entry of entries) {
      if (entry.waiting !== undefined) entry.waiting.push(message);
      else take(entry, message);
    }
  }

  function take(entry: Entry, message: FeedMessage): void {
    if (message.kind === "ready") {
      if (message.keys.includes(entry.key)) begin(entry, message);
      return;
    }
    if (!entry.isReady) return;
    if (message.kind === "event" && (covered?.isExact || isFor(entry.filter, message.event, userId)))
      deliver(entry, message.event, message.cursor);
    entry.cursor = message.cursor;
  }

  function begin(entry: Entry, { cursor: from, reset }: FeedMessage & { readonly kind: "ready" }): void {
    if (reset !== undefined && entry.cursor !== undefined) {
      entry.cursor = from;
      call(() => entry.listener.reset?.(reset));
    }
    entry.cursor ??= from;
    if (entry.cursor !== from) void catchUp(entry);
    else becomeReady(entry);
  }

  function becomeReady(entry: Entry): void {
    if (entry.isReady) return;
    entry.isReady = true;
    call(() => entry.listener.ready?.(entry.cursor ?? ""));
  }

  /** Reads the events between the cursor of a subscription and the cursor where the feed has begun. */
  async function catchUp(entry: Entry): Promise<void> {
    const waiting: FeedMessage[] = [];
    entry.waiting = waiting;
    try {
      for (let hasMore = true; hasMore; ) {
        const page = await send(listEvents({ ...queryOf(entry.filter), after: entry.cursor }), {
          signal: entry.end.signal,
        });
        if (page.isReset) call(() => entry.listener.reset?.("unknown"));
        for (const event of page.pageResults) deliver(entry, event, entry.cursor ?? "");
        entry.cursor = page.currentToken;
        hasMore = page.nextToken !== undefined;
      }
    } catch (error) {
      remove(entry);
      if (!entry.end.signal.aborted) call(() => entry.listener.end?.(error));
      return;
    }
    entry.waiting = undefined;
    becomeReady(entry);
    for (const message of waiting) if (message.kind !== "ready") take(entry, message);
  }

  function deliver({ seen, listener, end }: Entry, event: Event, at: string): void {
    if (end.signal.aborted || seen.has(event.id)) return;
    seen.add(event.id);
    if (seen.size > seenMax) for (const oldest of [...seen].slice(0, seenMax / 2)) seen.delete(oldest);
    // The service sends the types of the contract that this package is generated from.
    call(() => listener.event(event as LiveEvent, at));
  }

  function remove(entry: Entry): void {
    if (!entries.delete(entry)) return;
    if (entries.size > 0) tabs?.change();
    else close();
  }

  function fail(error: unknown): void {
    const failed = [...entries];
    entries.clear();
    close();
    for (const { listener } of failed) call(() => listener.end?.(error));
  }

  function close(): void {
    onClose();
    unlisten();
    tabs?.leave();
    feed?.stop();
  }

  const unlisten = client.on("signedOut", ({ session }) => {
    if (userId !== undefined && session?.userId === userId) fail(new SessionEnded("events: the user has signed out"));
  });

  return {
    remove,
    add(entry) {
      entries.add(entry);
      const own = () => [...entries].map(({ filter }) => filter);
      if (tabs === undefined) tabs = joinTabs({ name, own, lead, onWanted, onRefused, onMessage: receive });
      else tabs.change();
    },
  };
}

/** Runs code of the app. */
function call(run: () => void): void {
  try {
    run();
  } catch (error) {
    reportThrown(error);
  }
}

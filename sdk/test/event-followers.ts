import {
  type EventListener,
  type LiveEvent,
  type SubscribeOptions,
  type Subscription,
  subscribe,
} from "../src/events.ts";
import { type TestClient, until } from "./clients.ts";

/** A subscription that records the events that it receives. */
export interface RecordedSubscription extends Subscription {
  readonly subscription: Subscription;
  readonly events: LiveEvent[];
  readonly cursors: string[];
  readonly told: string[];
  readonly errors: unknown[];
}

/** Subscribes, and waits until the subscription is ready or closed. */
export async function follow(client: TestClient, options: SubscribeOptions = {}): Promise<RecordedSubscription> {
  const [events, cursors, told, errors]: [LiveEvent[], string[], string[], unknown[]] = [[], [], [], []];
  const listener: EventListener = {
    event(event, cursor) {
      events.push(event);
      cursors.push(cursor);
    },
    ready: () => told.push("ready"),
    reset: (reason) => told.push(`reset: ${reason}`),
    end: (error) => errors.push(error),
  };
  const subscription = subscribe(client, options, listener);
  await until(() => told.includes("ready") || errors.length > 0);
  return Object.create(subscription, Object.getOwnPropertyDescriptors({ subscription, events, cursors, told, errors }));
}

/** The comments of the check-ins whose creation a subscription has received. */
export function commentsOf({ events }: RecordedSubscription): string[] {
  return events.flatMap((event) => (event.type === "checkin.created" ? `${event.object?.comment}` : []));
}

/** A network that can be unplugged, and whose streams can be cut or fall silent. */
export interface StreamNetwork {
  fetch: typeof fetch;
  isOff: boolean;
  /** Closes all streams like a broken connection. */
  cut(): void;
  /** The number of further streams that pass their first bytes only, and stay open. */
  silent: number;
}

/** @param network reaches the server */
export function streamNetwork(network: typeof fetch = fetch): StreamNetwork {
  const cuts = new Set<AbortController>();
  const own: StreamNetwork = {
    isOff: false,
    silent: 0,
    cut() {
      for (const cut of cuts) cut.abort(new TypeError("terminated"));
      cuts.clear();
    },
    async fetch(input, init) {
      if (own.isOff) throw new TypeError("fetch failed");
      const response = await network(input, init);
      if (!`${input}`.includes("/events/stream") || response.body === null) return response;
      const isSilent = own.silent > 0;
      if (isSilent) own.silent -= 1;
      let chunks = 0;
      const { readable, writable } = new TransformStream<Uint8Array, Uint8Array>({
        transform(chunk, controller) {
          chunks += 1;
          if (!isSilent || chunks === 1) controller.enqueue(chunk);
        },
      });
      const cut = new AbortController();
      cuts.add(cut);
      response.body.pipeTo(writable, { signal: cut.signal }).catch(() => {});
      return new Response(readable, { status: response.status, headers: response.headers });
    },
  };
  return own;
}

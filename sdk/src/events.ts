export type { ResetReason } from "./parts/events/feed.ts";
export type { EventFilter } from "./parts/events/filters.ts";
export type { EventAbout, EventPattern, EventType, LiveEvent } from "./parts/events/live-event.ts";
export {
  type EventClient,
  type EventListener,
  type SubscribeOptions,
  type Subscription,
  subscribe,
} from "./parts/events/subscribe.ts";

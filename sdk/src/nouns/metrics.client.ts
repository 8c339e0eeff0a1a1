import { createMetricEvent, createMetricEvents, endMetricEvent } from "../generated/calls.ts";
import type {
  CreatedMetricEvent,
  CreatedMetricEvents,
  CreateMetricEventRequest,
  EndedMetricEvent,
  MetricEvent,
} from "../generated/types.ts";
import type { CallOptions } from "../transport/options.ts";
import type { Send } from "./send.ts";

/** Records events to count and measure. */
export interface MetricsNoun {
  record(key: string, input?: CreateMetricEventRequest, options?: CallOptions): Promise<CreatedMetricEvent>;
  /** Records events that the app has collected, for example offline. The service corrects their times for clock skew. */
  recordMany(events: readonly MetricEvent[], options?: CallOptions): Promise<CreatedMetricEvents>;
  /** Starts a timed event. */
  start(
    key: string,
    input: CreateMetricEventRequest & { readonly timeoutInSeconds: number },
    options?: CallOptions,
  ): Promise<CreatedMetricEvent>;
  /** Stops the timed event and returns its duration. */
  end(id: string, options?: CallOptions): Promise<EndedMetricEvent>;
}

export function createMetricsNoun(send: Send): MetricsNoun {
  return {
    record: (key, input, options) => send(createMetricEvent(key, input), options),
    recordMany: (events, options) => send(createMetricEvents({ events, sentAt: new Date() }), options),
    start: (key, input, options) => send(createMetricEvent(key, input), options),
    end: (id, options) => send(endMetricEvent(id), options),
  };
}

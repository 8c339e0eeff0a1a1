import { AsyncResource } from "node:async_hooks";
import { randomUUID } from "node:crypto";
import { runInCall } from "../lib/current-call.ts";
import { FairQueue } from "../lib/fair-queue.ts";
import type { Outcome } from "./webhooks.attempt.ts";
import type { WebhookName } from "./webhooks.serving.store.ts";
import { type ServingServices, serveWebhook } from "./webhooks.serving.ts";

export interface TurnBounds {
  /** Webhooks that are served at once; an application has 20. */
  readonly servedMax: number;
  /** How long a webhook is served while others wait. */
  readonly sliceMs: number;
}

/** Serves webhooks of this process, so many at once, the applications in turns. */
export interface WebhookTurns {
  /** Serves a webhook, once more if it is being served. Resolves when it has been. */
  serve(name: WebhookName, services: ServingServices): Promise<void>;
  /** Whether a webhook is being served, or waits for its turn. */
  has(id: string): boolean;
  /** Lets webhooks that have been served for a while make room for those that wait, and go on behind them. */
  endSlices(): void;
  /** Resolves when those that are served now have been. */
  ended(): Promise<unknown>;
  /** The numbers of attempts by their result, since the start of this process. */
  readonly outcomes: ReadonlyMap<Outcome, number>;
  readonly servingCount: number;
}

const waitingMax = 10_000;

/** @param stopping aborted when no more webhooks are to be served */
export function createWebhookTurns({ servedMax, sliceMs }: TurnBounds, stopping: AbortSignal): WebhookTurns {
  const holder = randomUUID();
  const outcomes = new Map<Outcome, number>();
  const serving = new Map<string, Promise<void>>();
  /** Webhooks that received more work while they were served. */
  const again = new Set<string>();
  /** Of each webhook that is served, since when, and what ends that. */
  const slices = new Map<string, { readonly since: number; readonly over: AbortController }>();
  // Deliveries belong to no call, and must not run inside of a transaction of the call whose event caused them.
  const outside = new AsyncResource("WebhookTurns");
  const lane = { weight: 1, waitingMax, waitingPerApplicationMax: waitingMax, waitingPerCallerMax: 1 };
  const queue = new FairQueue({
    name: "webhook",
    runningMax: servedMax,
    lanes: { webhook: lane },
    refuse: () => new Error("too many webhooks wait"),
  });

  function serve(name: WebhookName, services: ServingServices): Promise<void> {
    const running = serving.get(name.id);
    if (running !== undefined) {
      again.add(name.id);
      return running;
    }
    if (stopping.aborted) return Promise.resolve();
    const done = outside
      .runInAsyncScope(() =>
        queue.run({ lane: "webhook", application: name.applicationId, caller: name.id }, () =>
          runInCall({ work: "webhook" }, () => serveSlice(name, services)),
        ),
      )
      .catch((err) => {
        if (!stopping.aborted) services.log.warn({ err, webhook: name.id }, "a webhook could not be served");
      })
      .then(() => {
        serving.delete(name.id);
        if (again.delete(name.id)) void serve(name, services);
      });
    serving.set(name.id, done);
    return done;
  }

  async function serveSlice(name: WebhookName, services: ServingServices): Promise<void> {
    if (stopping.aborted) return;
    const over = new AbortController();
    slices.set(name.id, { since: performance.now(), over });
    try {
      await serveWebhook(name, services, {
        holder,
        signal: AbortSignal.any([stopping, over.signal]),
        onAttempt: (outcome: Outcome) => void outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1),
      });
    } finally {
      slices.delete(name.id);
    }
  }

  return {
    serve,
    has: (id) => serving.has(id),
    endSlices() {
      let { waiting } = queue.statistics().webhook;
      const now = performance.now();
      for (const [id, { since, over }] of slices) {
        if (waiting === 0) return;
        if (over.signal.aborted || now - since < sliceMs) continue;
        waiting -= 1;
        again.add(id);
        over.abort();
      }
    },
    ended: () => Promise.all(serving.values()),
    outcomes,
    get servingCount() {
      return slices.size;
    },
  };
}

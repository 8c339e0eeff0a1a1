import { AsyncResource } from "node:async_hooks";
import { randomUUID } from "node:crypto";
import { runInCall } from "../lib/current-call.ts";
import { FairQueue } from "../limits/fair-queue.ts";
import type { Outcome } from "./webhooks.attempt.ts";
import type { WebhookName } from "./webhooks.serving.store.ts";
import { type ServingServices, serveWebhook } from "./webhooks.serving.ts";

export interface QueueBounds {
  /** The number of webhooks served concurrently; an application may have 20. */
  readonly servedMax: number;
  /** How long a webhook is served while others wait. */
  readonly sliceMs: number;
}

/** Serves a bounded number of this process's webhooks concurrently, fairly among applications. */
export interface WebhookQueue {
  /** Serves a webhook, and again if it is already being served. Resolves when it has been. */
  serve(name: WebhookName, services: ServingServices): Promise<void>;
  /** Whether a webhook is being served or queued. */
  has(id: string): boolean;
  /** Requeues webhooks whose time slice has expired, while others wait. */
  stopExpiredSlices(): void;
  /** Resolves when all webhooks in service have been served. */
  idle(): Promise<unknown>;
  /** The number of attempts by outcome, since the start of this process. */
  readonly outcomes: ReadonlyMap<Outcome, number>;
  readonly servingCount: number;
}

const waitingMax = 10_000;

/** @param stopping aborted to serve no further webhooks */
export function createWebhookQueue({ servedMax, sliceMs }: QueueBounds, stopping: AbortSignal): WebhookQueue {
  const holder = randomUUID();
  const outcomes = new Map<Outcome, number>();
  const serving = new Map<string, Promise<void>>();
  /** Webhooks that received more work while they were served. */
  const rerun = new Set<string>();
  /** The webhooks in service: the start of their time slice, and the controller that stops it. */
  const slices = new Map<string, { readonly since: number; readonly stop: AbortController }>();
  // Deliveries must not run inside the transaction of the call whose event caused them.
  const outside = new AsyncResource("WebhookQueue");
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
      rerun.add(name.id);
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
        if (rerun.delete(name.id)) void serve(name, services);
      });
    serving.set(name.id, done);
    return done;
  }

  async function serveSlice(name: WebhookName, services: ServingServices): Promise<void> {
    if (stopping.aborted) return;
    const stop = new AbortController();
    slices.set(name.id, { since: performance.now(), stop });
    try {
      await serveWebhook(name, services, {
        holder,
        signal: AbortSignal.any([stopping, stop.signal]),
        onAttempt: (outcome: Outcome) => void outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1),
      });
    } finally {
      slices.delete(name.id);
    }
  }

  return {
    serve,
    has: (id) => serving.has(id),
    stopExpiredSlices() {
      let { waiting } = queue.statistics().webhook;
      const now = performance.now();
      for (const [id, { since, stop }] of slices) {
        if (waiting === 0) return;
        if (stop.signal.aborted || now - since < sliceMs) continue;
        waiting -= 1;
        rerun.add(id);
        stop.abort();
      }
    },
    idle: () => Promise.all(serving.values()),
    outcomes,
    get servingCount() {
      return slices.size;
    },
  };
}

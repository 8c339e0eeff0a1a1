import { randomUUID } from "node:crypto";
import { runInCall } from "../lib/current-call.ts";
import { FairQueue } from "../limits/fair-queue.ts";
import type { Outcome } from "./webhooks.attempt.ts";
import { type ServingServices, serveWebhook } from "./webhooks.serving.ts";
import type { WebhookKey } from "./webhooks.store.ts";

export interface QueueBounds {
  /** The number of webhooks served concurrently; an application may have 20. */
  readonly servedMax: number;
  /** How long a webhook is served while others wait. */
  readonly sliceMs: number;
}

const waitingMax = 10_000;

/** A webhook that is queued or being served. */
interface Served {
  done: Promise<void>;
  /** Whether it received more work while it was served. */
  isAgain: boolean;
  /** The start of its time slice; undefined while it is queued. */
  since: number | undefined;
  readonly stop: AbortController;
}

/** Serves a bounded number of this process's webhooks concurrently, fairly among applications. */
export class WebhookQueue {
  /** The number of attempts by outcome, since the start of this process. */
  readonly outcomes = new Map<Outcome, number>();
  readonly #bounds: QueueBounds;
  readonly #stopping: AbortSignal;
  readonly #holder = randomUUID();
  readonly #served = new Map<string, Served>();
  readonly #queue: FairQueue<"webhook">;

  /** @param stopping aborted to serve no further webhooks */
  constructor(bounds: QueueBounds, stopping: AbortSignal) {
    this.#bounds = bounds;
    this.#stopping = stopping;
    const lane = { weight: 1, waitingMax, waitingPerApplicationMax: waitingMax, waitingPerCallerMax: 1 };
    this.#queue = new FairQueue({
      name: "webhook",
      runningMax: bounds.servedMax,
      lanes: { webhook: lane },
      refuse: () => new Error("too many webhooks wait"),
    });
  }

  get servingCount(): number {
    return this.#queue.statistics().webhook.running;
  }

  /** Whether a webhook is being served or queued. */
  has(id: string): boolean {
    return this.#served.has(id);
  }

  /** Serves a webhook, and again if it is already being served. Resolves when it has been. */
  async serve(key: WebhookKey, services: ServingServices): Promise<void> {
    const running = this.#served.get(key.id);
    if (running !== undefined) {
      running.isAgain = true;
      return running.done;
    }
    if (this.#stopping.aborted) return;
    const served: Served = { done: Promise.resolve(), isAgain: false, since: undefined, stop: new AbortController() };
    this.#served.set(key.id, served);
    served.done = this.#run(key, served, services).then(() => {
      this.#served.delete(key.id);
      if (served.isAgain) void this.serve(key, services);
    });
    return served.done;
  }

  async #run(key: WebhookKey, served: Served, services: ServingServices): Promise<void> {
    const options = {
      holder: this.#holder,
      signal: AbortSignal.any([this.#stopping, served.stop.signal]),
      onAttempt: (outcome: Outcome) => void this.outcomes.set(outcome, (this.outcomes.get(outcome) ?? 0) + 1),
    };
    const ticket = { lane: "webhook", application: key.applicationId, caller: key.id } as const;
    try {
      await this.#queue.run(ticket, async () => {
        if (this.#stopping.aborted) return;
        served.since = performance.now();
        await runInCall({ work: "webhook" }, () => serveWebhook(key, services, options));
      });
    } catch (err) {
      if (!this.#stopping.aborted) services.log.warn({ err, webhook: key.id }, "a webhook could not be served");
    }
  }

  /** Requeues webhooks whose time slice has expired, while others wait. */
  stopExpiredSlices(): void {
    let { waiting } = this.#queue.statistics().webhook;
    const startedBefore = performance.now() - this.#bounds.sliceMs;
    for (const served of this.#served.values()) {
      if (waiting === 0) return;
      const { since, stop } = served;
      if (since === undefined || since > startedBefore || stop.signal.aborted) continue;
      waiting -= 1;
      served.isAgain = true;
      stop.abort();
    }
  }

  /** Resolves when all webhooks in service have been served. */
  async idle(): Promise<void> {
    await Promise.all(Array.from(this.#served.values(), ({ done }) => done));
  }
}

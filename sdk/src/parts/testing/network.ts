export interface BreakableNetworkOptions {
  /** The underlying network; that of the runtime by default. */
  readonly fetch?: typeof fetch;
}

/** A network between a client and the service, which a test breaks. */
export interface BreakableNetwork {
  /** The option `fetch` of a client. */
  readonly fetch: typeof fetch;
  offline(): void;
  online(): void;
  /** Delays each request, in milliseconds. */
  latency(ms: number): void;
  /**
   * Loses this share of the answers: the service has carried out the request, and the client receives no answer.
   *
   * @param seed the same one loses the same answers
   */
  dropAnswers(share: number, options?: { readonly seed?: number }): void;
}

/** Creates a network that works until a test breaks it. */
export function breakableNetwork({ fetch: behind = fetch }: BreakableNetworkOptions = {}): BreakableNetwork {
  let isOffline = false;
  let latencyMs = 0;
  let share = 0;
  let random = createRandom(1);

  async function request(input: RequestInfo | URL, init?: RequestInit): Promise<Response> {
    if (latencyMs > 0) await wait(latencyMs, init?.signal);
    if (isOffline) throw new TypeError("the network is offline");
    const response = await behind(input, init);
    if (random() >= share) return response;
    await response.body?.cancel();
    throw new TypeError("the network has lost the answer");
  }

  return {
    fetch: request,
    offline() {
      isOffline = true;
    },
    online() {
      isOffline = false;
    },
    latency(ms) {
      latencyMs = ms;
    },
    dropAnswers(given, { seed = 1 } = {}) {
      share = given;
      random = createRandom(seed);
    },
  };
}

async function wait(ms: number, signal: AbortSignal | null | undefined): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    const timer = setTimeout(resolve, ms);
    const abort = () => {
      clearTimeout(timer);
      reject(signal?.reason);
    };
    if (signal?.aborted) abort();
    else signal?.addEventListener("abort", abort, { once: true });
  });
}

/** Numbers from 0 to below 1 (mulberry32). */
function createRandom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

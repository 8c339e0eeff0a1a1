interface Slots {
  used: number;
  readonly waiting: (() => void)[];
}

/** Limits the number of concurrent jobs with the same key. */
export class KeyedSemaphore {
  readonly #slotsMax: number;
  readonly #keys = new Map<string, Slots>();

  constructor(slotsMax: number) {
    this.#slotsMax = slotsMax;
  }

  /** Waits for a slot, in the order of the calls. @returns a function that releases it */
  async acquire(key: string): Promise<() => void> {
    const slots = this.#slotsOf(key);
    if (slots.used < this.#slotsMax) slots.used += 1;
    else await new Promise<void>((resolve) => slots.waiting.push(resolve)); // takes over the slot of another job
    return () => this.#release(key, slots);
  }

  /** @returns a function that releases the slot; undefined without a free slot */
  tryAcquire(key: string): (() => void) | undefined {
    const slots = this.#slotsOf(key);
    if (slots.used >= this.#slotsMax) return undefined;
    slots.used += 1;
    return () => this.#release(key, slots);
  }

  /** The jobs with this key that hold a slot or wait for one. */
  countOf(key: string): number {
    const slots = this.#keys.get(key);
    return slots === undefined ? 0 : slots.used + slots.waiting.length;
  }

  /** The jobs that hold a slot. */
  get usedCount(): number {
    let count = 0;
    for (const { used } of this.#keys.values()) count += used;
    return count;
  }

  #slotsOf(key: string): Slots {
    return this.#keys.getOrInsertComputed(key, () => ({ used: 0, waiting: [] }));
  }

  #release(key: string, slots: Slots): void {
    const next = slots.waiting.shift();
    if (next !== undefined) next();
    else slots.used -= 1;
    if (slots.used === 0) this.#keys.delete(key);
  }
}

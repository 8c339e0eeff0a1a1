/** An item of a {@link TimerWheel}. An item may be in one wheel only. */
export interface Timed {
  /** The slot of the item; set by the wheel. */
  slot: number;
}

/**
 * Stores the due times of many items, to the precision of a step, for one timer of its owner: thousands of separate
 * timers would cost more than the work that they schedule.
 */
export class TimerWheel<Item extends Timed> {
  readonly #slots = new Map<number, Set<Item>>();
  readonly #stepMs: number;

  constructor(stepMs: number) {
    this.#stepMs = stepMs;
  }

  /** Sets the due time of an item, on any clock of the owner. */
  set(item: Item, at: number): void {
    this.delete(item);
    item.slot = Math.ceil(at / this.#stepMs);
    this.#slots.getOrInsertComputed(item.slot, () => new Set()).add(item);
  }

  delete(item: Item): void {
    const items = this.#slots.get(item.slot);
    if (items?.delete(item) === true && items.size === 0) this.#slots.delete(item.slot);
  }

  /** Removes and returns the items that are due. */
  takeDue(now: number): Item[] {
    const due: Item[] = [];
    for (const [slot, items] of this.#slots) {
      if (slot * this.#stepMs > now) continue;
      this.#slots.delete(slot);
      due.push(...items);
    }
    return due;
  }
}

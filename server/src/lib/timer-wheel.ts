/** An item of a {@link TimerWheel}; each item is in one wheel at most once. */
export interface Timed {
  /** The slot of the item, written by the wheel. */
  slot: number;
}

/**
 * Times for many items with one timer of its owner, exact to one step: thousands of separate timers would cost more
 * than the work that they schedule.
 */
export class TimerWheel<Item extends Timed> {
  readonly #slots = new Map<number, Set<Item>>();
  readonly #stepMs: number;

  constructor(stepMs: number) {
    this.#stepMs = stepMs;
  }

  /** Sets the time of an item, on any clock that the owner reads. */
  set(item: Item, at: number): void {
    this.delete(item);
    item.slot = Math.ceil(at / this.#stepMs);
    this.#slots.getOrInsertComputed(item.slot, () => new Set()).add(item);
  }

  delete(item: Item): void {
    const items = this.#slots.get(item.slot);
    if (items?.delete(item) === true && items.size === 0) this.#slots.delete(item.slot);
  }

  /** Removes and returns the items whose time has come. */
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

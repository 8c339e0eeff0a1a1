/**
 * A map of at most `max` entries that drops the least recently used one. It allocates no memory in advance, so `max`
 * costs nothing while the map is empty.
 */
export class LruMap<Key, Value> {
  /** From the least to the most recently used. */
  readonly #entries = new Map<Key, Value>();
  readonly #max: number;

  constructor(max: number) {
    this.#max = max;
  }

  get size(): number {
    return this.#entries.size;
  }

  get(key: Key): Value | undefined {
    const value = this.#entries.get(key);
    if (value !== undefined) this.#append(key, value);
    return value;
  }

  set(key: Key, value: Value): void {
    this.#append(key, value);
    if (this.#entries.size <= this.#max) return;
    for (const oldest of this.#entries.keys()) {
      this.#entries.delete(oldest);
      return;
    }
  }

  delete(key: Key): void {
    this.#entries.delete(key);
  }

  clear(): void {
    this.#entries.clear();
  }

  #append(key: Key, value: Value): void {
    this.#entries.delete(key);
    this.#entries.set(key, value);
  }
}

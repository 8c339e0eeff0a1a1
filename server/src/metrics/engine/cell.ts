import type { ByteReader, ByteWriter } from "../../lib/bytes.ts";
import { DistinctCounter } from "../../lib/distinct-counter.ts";
import { binOf, QuantileSketch } from "../../lib/quantile-sketch.ts";

/** The number of value names with separate statistics, for a complete bucket and for one group. */
export const namesMax = { all: 50, group: 10 } as const;

/** The scope of a cell: all events of a bucket, or one group. Groups are numerous, so their cells are smaller. */
export type CellKind = keyof typeof namesMax;

const precisions: Readonly<Record<CellKind, number>> = { all: 12, group: 10 };

/** The values of one name. */
export class ValueStats {
  /** The number of strings and booleans. */
  texts = 0;
  /** The number of numbers; the fields below describe them. */
  numbers = 0;
  sum = 0;
  min = Number.POSITIVE_INFINITY;
  max = Number.NEGATIVE_INFINITY;
  sketch = new QuantileSketch();

  /** @param bin the bin of the value, see `binOf`; ignored when the value is 0 */
  add(value: number, bin: number): void {
    this.numbers += 1;
    this.sum += value;
    if (value < this.min) this.min = value;
    if (value > this.max) this.max = value;
    this.sketch.add(value, bin);
  }

  merge(other: ValueStats): void {
    this.texts += other.texts;
    if (other.numbers === 0) return;
    this.numbers += other.numbers;
    this.sum += other.sum;
    this.min = Math.min(this.min, other.min);
    this.max = Math.max(this.max, other.max);
    this.sketch.merge(other.sketch);
  }

  write(writer: ByteWriter): void {
    writer.integer(this.texts);
    writer.integer(this.numbers);
    if (this.numbers === 0) return;
    for (const number of [this.sum, this.min, this.max]) writer.double(number);
    this.sketch.write(writer);
  }

  static read(reader: ByteReader): ValueStats {
    const stats = new ValueStats();
    stats.texts = reader.integer();
    stats.numbers = reader.integer();
    if (stats.numbers === 0) return stats;
    stats.sum = reader.double();
    stats.min = reader.double();
    stats.max = reader.double();
    stats.sketch = QuantileSketch.read(reader);
    return stats;
  }
}

/** Statistics of a set of events: the count, the distinct devices and users, and the values of each name. */
export class Cell {
  count = 0;
  readonly #kind: CellKind;
  readonly #values = new Map<string, ValueStats>();
  #devices: DistinctCounter;
  #users: DistinctCounter;

  constructor(kind: CellKind) {
    this.#kind = kind;
    this.#devices = new DistinctCounter(precisions[kind]);
    this.#users = new DistinctCounter(precisions[kind]);
  }

  get devices(): number {
    return this.#devices.count();
  }

  get users(): number {
    return this.#users.count();
  }

  /** By name, for the first {@link namesMax} names. */
  get values(): ReadonlyMap<string, ValueStats> {
    return this.#values;
  }

  /** @param device and user: hashes for {@link DistinctCounter} */
  addEvent(device: number, user: number | undefined): void {
    this.count += 1;
    this.#devices.add(device);
    if (user !== undefined) this.#users.add(user);
  }

  addNumber(name: string, value: number, bin = value === 0 ? 0 : binOf(value)): void {
    this.#statsOf(name)?.add(value, bin);
  }

  addText(name: string): void {
    const stats = this.#statsOf(name);
    if (stats !== undefined) stats.texts += 1;
  }

  merge(other: Cell): void {
    this.count += other.count;
    this.#devices.merge(other.#devices);
    this.#users.merge(other.#users);
    for (const [name, stats] of other.#values) this.#statsOf(name)?.merge(stats);
  }

  write(writer: ByteWriter): void {
    writer.integer(this.count);
    this.#devices.write(writer);
    this.#users.write(writer);
    writer.integer(this.#values.size);
    for (const [name, stats] of this.#values) {
      writer.text(name);
      stats.write(writer);
    }
  }

  static read(kind: CellKind, reader: ByteReader): Cell {
    const cell = new Cell(kind);
    cell.count = reader.integer();
    cell.#devices = DistinctCounter.read(precisions[kind], reader);
    cell.#users = DistinctCounter.read(precisions[kind], reader);
    for (let left = reader.integer(namesMax[kind]); left > 0; left -= 1)
      cell.#values.set(reader.text(), ValueStats.read(reader));
    return cell;
  }

  #statsOf(name: string): ValueStats | undefined {
    let stats = this.#values.get(name);
    if (stats === undefined && this.#values.size < namesMax[this.#kind]) {
      stats = new ValueStats();
      this.#values.set(name, stats);
    }
    return stats;
  }
}

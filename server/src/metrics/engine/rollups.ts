import { ByteReader, ByteWriter, MalformedBytesError } from "../../lib/bytes.ts";
import { DistinctCounter } from "../../lib/distinct-counter.ts";
import { binOf, QuantileSketch } from "../../lib/quantile-sketch.ts";

/** The number of value names with separate statistics, for a complete bucket and for one group. */
const namesMax = { all: 50, group: 10 } as const;

/** The scope of a cell: all events of a bucket, or one group. Groups are numerous, so their cells are smaller. */
type CellKind = keyof typeof namesMax;

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

const textsMax = 100;
const textCharactersMax = 256;

/**
 * Events grouped by the content of one value. The first distinct strings have a group each, and all later ones share a
 * group without a name, which no string can be confused with.
 */
export class Groups {
  // Groups stay encoded until they are read.
  readonly #groups = new Map<string, Cell | Uint8Array>();
  #rest: Cell | undefined;

  /** Returns the group of a content. Strings with the same first 256 characters share a group. */
  of(content: string | boolean): Cell {
    const text = groupName(content);
    return this.#find(text) ?? this.#add(text) ?? this.#others();
  }

  /** Yields the named groups. */
  *entries(): Generator<readonly [text: string, cell: Cell]> {
    for (const text of this.#groups.keys()) {
      const cell = this.#find(text);
      if (cell !== undefined) yield [text, cell];
    }
  }

  /** All events whose content has no named group. */
  get rest(): Cell | undefined {
    return this.#rest;
  }

  merge(other: Groups): void {
    for (const [text, cell] of other.entries()) (this.#find(text) ?? this.#add(text) ?? this.#others()).merge(cell);
    if (other.#rest !== undefined) this.#others().merge(other.#rest);
  }

  write(writer: ByteWriter): void {
    writer.integer(this.#groups.size);
    for (const [text, cell] of this.#groups) {
      writer.text(text);
      writer.bytes(cell instanceof Cell ? written(cell) : cell);
    }
    writer.integer(this.#rest === undefined ? 0 : 1);
    this.#rest?.write(writer);
  }

  static read(reader: ByteReader): Groups {
    const groups = new Groups();
    for (let left = reader.integer(textsMax); left > 0; left -= 1) groups.#groups.set(reader.text(), reader.bytes());
    if (reader.integer(1) === 1) groups.#rest = Cell.read("group", reader);
    return groups;
  }

  #find(text: string): Cell | undefined {
    const found = this.#groups.get(text);
    if (found === undefined || found instanceof Cell) return found;
    const cell = Cell.read("group", new ByteReader(found));
    this.#groups.set(text, cell);
    return cell;
  }

  #add(text: string): Cell | undefined {
    if (this.#groups.size >= textsMax) return undefined;
    const cell = new Cell("group");
    this.#groups.set(text, cell);
    return cell;
  }

  #others(): Cell {
    this.#rest ??= new Cell("group");
    return this.#rest;
  }
}

function written(cell: Cell): Uint8Array {
  const writer = new ByteWriter();
  cell.write(writer);
  return writer.finish();
}

function groupName(content: string | boolean): string {
  const text = String(content);
  return text.length <= textCharactersMax ? text : Array.from(text).slice(0, textCharactersMax).join("");
}

// The format version, which is the first byte of each row.
const version = 1;

/** The statistics of a bucket: one cell for all its events, or a cell for each content of one value name. */
export type Rollup = Cell | Groups;

export function writeRollup(rollup: Rollup): Uint8Array {
  const writer = new ByteWriter();
  writer.integer(version);
  rollup.write(writer);
  return writer.finish();
}

/** Merges the stored roll-up of a bucket and dimension with additional ones. */
export function mergeRollups(dimension: string, stored: Uint8Array | undefined, added: readonly Rollup[]): Rollup {
  const [first] = added;
  if (stored === undefined && added.length === 1 && first !== undefined) return first;
  const merged = stored === undefined ? createRollup(dimension) : readRollup(dimension, stored);
  for (const rollup of added) merged.merge(rollup as never); // all have the same dimension
  return merged;
}

function createRollup(dimension: string): Rollup {
  return dimension === "" ? new Cell("all") : new Groups();
}

function readRollup(dimension: string, data: Uint8Array): Rollup {
  return dimension === "" ? readAll(data) : readGroups(data);
}

export function readAll(data: Uint8Array): Cell {
  return Cell.read("all", open(data));
}

/** Returns the number of events of a roll-up of all events. Its first bytes are sufficient. */
export function readCount(data: Uint8Array): number {
  return open(data).integer();
}

export function readGroups(data: Uint8Array): Groups {
  return Groups.read(open(data));
}

/** Decodes a stored roll-up completely. @throws MalformedBytesError */
export function checkRollup(dimension: string, data: Uint8Array): void {
  const rollup = readRollup(dimension, data);
  if (rollup instanceof Groups) for (const _ of rollup.entries()); // each group is decoded when it is read
}

function open(data: Uint8Array): ByteReader {
  const reader = new ByteReader(data);
  if (reader.integer() !== version) throw new MalformedBytesError("The roll-up has another version");
  return reader;
}

/** The content of `metric_rollups.dimension` for a value name: never empty, because empty means all events. */
export function dimensionOf(name: string): string {
  return `=${name}`;
}

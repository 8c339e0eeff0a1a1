import { type ByteReader, type ByteWriter, MalformedBytesError } from "./bytes.ts";

const accuracy = 0.01;
const gamma = (1 + accuracy) / (1 - accuracy);
const logGamma = Math.log(gamma);
/**
 * Sufficient for values from a billionth to a billion; for more, neighbouring bins are merged and the accuracy halves.
 */
const binsMax = 2_100;
/** Larger than the bin of any number. */
const binMax = 40_000;
/** After this many merges of pairs, all possible bins are fewer than {@link binsMax}. */
const joinsMax = 7;

type Bins = Map<number, number>;

/** Estimates quantiles of many numbers within 1 % of their value. Sketches can be merged. */
export class QuantileSketch {
  // DDSketch (Masson et al. 2019): a bin for each power of gamma, stored sparsely, so that 1e-300 and 1e300 take two
  // bins.
  #positive: Bins | undefined;
  #negative: Bins | undefined;
  #zeros = 0;
  /** How often pairs of bins have been merged (UDDSketch, Epicoco et al. 2020). */
  #joined = 0;

  /** @param bin the bin of the value, from {@link binOf}; ignored for 0 */
  add(value: number, bin: number): void {
    if (value === 0) {
      this.#zeros += 1;
      return;
    }
    if (value > 0) this.#positive ??= new Map();
    else this.#negative ??= new Map();
    const bins = (value > 0 ? this.#positive : this.#negative) as Bins; // created above
    const joined = this.#joined === 0 ? bin : Math.ceil(bin / 2 ** this.#joined);
    bins.set(joined, (bins.get(joined) ?? 0) + 1);
    this.#shrink();
  }

  merge(other: QuantileSketch): void {
    while (this.#joined < other.#joined) this.#join();
    const scale = 2 ** (this.#joined - other.#joined);
    this.#zeros += other.#zeros;
    this.#positive = addAll(other.#positive, this.#positive, scale);
    this.#negative = addAll(other.#negative, this.#negative, scale);
    this.#shrink();
  }

  /** Returns the values at these shares, which must be ascending. The sketch must not be empty. */
  quantiles(shares: readonly number[]): number[] {
    const scale = 2 ** this.#joined;
    const middleOf = (bin: number) => Math.exp(bin * scale * logGamma) * (2 / (1 + gamma ** scale));
    const bins: [value: number, count: number][] = [];
    for (const bin of sorted(this.#negative).reverse()) bins.push([-middleOf(bin), this.#negative?.get(bin) ?? 0]);
    bins.push([0, this.#zeros]);
    for (const bin of sorted(this.#positive)) bins.push([middleOf(bin), this.#positive?.get(bin) ?? 0]);
    const total = bins.reduce((sum, [, count]) => sum + count, 0);
    const found: number[] = [];
    let [at, below] = [-1, 0];
    for (const share of shares) {
      const rank = share * (total - 1);
      while (below <= rank) below += bins[++at]?.[1] ?? Number.POSITIVE_INFINITY;
      found.push(bins[at]?.[0] ?? 0);
    }
    return found;
  }

  write(writer: ByteWriter): void {
    writer.integer(this.#joined);
    writer.integer(this.#zeros);
    writeBins(this.#positive, writer);
    writeBins(this.#negative, writer);
  }

  static read(reader: ByteReader): QuantileSketch {
    const sketch = new QuantileSketch();
    sketch.#joined = reader.integer(joinsMax);
    sketch.#zeros = reader.integer();
    sketch.#positive = readBins(reader, sketch.#joined);
    sketch.#negative = readBins(reader, sketch.#joined);
    return sketch;
  }

  #shrink(): void {
    while ((this.#positive?.size ?? 0) + (this.#negative?.size ?? 0) > binsMax) this.#join();
  }

  #join(): void {
    this.#positive = addAll(this.#positive, undefined, 2);
    this.#negative = addAll(this.#negative, undefined, 2);
    this.#joined += 1;
  }
}

/** Returns the bin of a non-zero number, whatever its sign is. */
export function binOf(value: number): number {
  return Math.ceil(Math.log(Math.abs(value)) / logGamma);
}

function addAll(from: Bins | undefined, to: Bins | undefined, scale: number): Bins | undefined {
  if (from === undefined) return to;
  if (to === undefined && scale === 1) return new Map(from);
  const bins: Bins = to ?? new Map();
  for (const [bin, count] of from) {
    const joined = scale === 1 ? bin : Math.ceil(bin / scale);
    bins.set(joined, (bins.get(joined) ?? 0) + count);
  }
  return bins;
}

function sorted(bins: Bins | undefined): Int32Array {
  return bins === undefined ? new Int32Array() : Int32Array.from(bins.keys()).sort();
}

function writeBins(bins: Bins | undefined, writer: ByteWriter): void {
  writer.integer(bins?.size ?? 0);
  if (bins === undefined) return;
  let before = 0;
  for (const bin of sorted(bins)) {
    writer.signed(bin - before);
    writer.integer(bins.get(bin) ?? 0);
    before = bin;
  }
}

function readBins(reader: ByteReader, joined: number): Bins | undefined {
  const size = reader.integer(binsMax);
  if (size === 0) return undefined;
  const bins: Bins = new Map();
  let bin = 0;
  for (let left = size; left > 0; left -= 1) {
    bin += reader.signed();
    if (Math.abs(bin) > binMax / 2 ** joined) throw new MalformedBytesError(`A sketch has the bin ${bin}`);
    bins.set(bin, reader.integer());
  }
  if (bins.size < size) throw new MalformedBytesError("A sketch has a bin twice");
  return bins;
}

import type { AnsweredCall } from "../http/request-observer.ts";
import { ByteReader, ByteWriter, MalformedBytesError } from "../lib/bytes.ts";
import { DistinctCounter } from "../lib/distinct-counter.ts";
import { isOrigin } from "../lib/origins.ts";
import { binOf, QuantileSketch } from "../lib/quantile-sketch.ts";

/** The calls of one operation. */
interface OperationTally {
  calls: number;
  /** Calls that were refused or failed. */
  errors: number;
  /** In milliseconds; undefined if there was no space, see {@link Tally.write}. */
  latency: QuantileSketch | undefined;
}

/** Identical failures. */
export interface ErrorTally {
  readonly operation: string;
  readonly error: string;
  readonly message: string;
  count: number;
}

/** The activity of clients with the tokens of one application key. */
export interface KeyTally {
  /** Requests with a token; a batch counts once. */
  calls: number;
  /** Signed requests. */
  signed: number;
  registrations: number;
}

/** Counters stored as plain numbers, in this order. */
const sums = ["rateLimited", "failedLogins", "newDevices", "newUsers", "files", "bytes", "otherErrors"] as const;

const devicePrecision = 12;
/** Larger than any stored tally. */
const storedBytesMax = 262_144;
/** Operations are defined by the code; the tally of a day may contain those of several releases. */
const operationsMax = 1_000;
/** Above this number, further distinct failures are counted together. */
const errorsInMemoryMax = 200;
const errorsWrittenMax = 50;
const operationsWithLatencyMax = 100;
const messageCharactersMax = 200;
/** The maximum number of active keys; further ones are counted together. */
const keysMax = 100;
const otherKeys = "";
/** Above this number, the rarest origins are not counted. */
const originsMax = 100;
const originCharactersMax = 200;
/** All origins together occupy at most a quarter of a row. */
const originsWrittenCharactersMax = 4_096;
/** Above this number, the lowest peaks are dropped. */
const peaksMax = 50;
const peaksWrittenCharactersMax = 2_048;

/** The activity in a time interval. Tallies can be merged over intervals, processes and applications. */
export class Tally {
  /** Calls answered with 1xx or 2xx, 3xx, 4xx, and 5xx. */
  readonly byClass: [number, number, number, number] = [0, 0, 0, 0];
  readonly operations = new Map<string, OperationTally>();
  readonly devices = new DistinctCounter(devicePrecision);
  rateLimited = 0;
  /** Log-ins with a wrong name, password or token. */
  failedLogins = 0;
  newDevices = 0;
  newUsers = 0;
  files = 0;
  /** The bytes of the files. */
  bytes = 0;
  /** Failures that are not in {@link errors}. */
  otherErrors = 0;
  /** By key id. The empty id stands for all keys above the limit of a hundred, and for several applications. */
  readonly keys = new Map<string, KeyTally>();
  /** Requests of web pages by origin. Pages can send any value that has the form of an origin. */
  readonly origins = new Map<string, number>();
  /** The most calls of one device within a minute that counted against a limit: `caller`, or a limit of operations. */
  readonly peaks = new Map<string, number>();
  readonly #errors = new Map<string, ErrorTally>();
  /** The latency of operations without separate latency. */
  readonly #otherLatency = new QuantileSketch();
  #hasOtherLatency = false;

  get calls(): number {
    return this.byClass.reduce((total, each) => total + each, 0);
  }

  /** Calls that were refused or failed. */
  get failed(): number {
    return this.byClass[2] + this.byClass[3];
  }

  /** The most frequent failures first. */
  get errors(): readonly ErrorTally[] {
    return [...this.#errors.values()].sort((a, b) => b.count - a.count);
  }

  /** Allocates nothing for a successful call, except for the first one of its operation. */
  count(operation: string, { status, ms, failure }: Pick<AnsweredCall, "status" | "ms" | "failure">): void {
    this.byClass[status < 300 ? 0 : status < 400 ? 1 : status < 500 ? 2 : 3] += 1;
    const counts = this.#operation(operation);
    counts.calls += 1;
    if (status >= 400) counts.errors += 1;
    counts.latency ??= new QuantileSketch();
    counts.latency.add(ms, ms === 0 ? 0 : binOf(ms));
    if (failure === undefined) return;
    if (failure.condition === "RateLimitExceeded") this.rateLimited += 1;
    if (failure.condition === "AuthBadUsernameOrPassword") this.failedLogins += 1;
    this.#addError({ operation, error: failure.condition, message: shownMessage(failure.message), count: 1 });
  }

  countKey(keyId: string, isSigned: boolean): void {
    const counts = this.#key(keyId);
    counts.calls += 1;
    if (isSigned) counts.signed += 1;
  }

  countRegistration(keyId: string): void {
    this.#key(keyId).registrations += 1;
  }

  /** Ignores strings that are not valid in a list of origins. */
  countOrigin(origin: string): void {
    const calls = this.origins.get(origin);
    if (calls !== undefined) this.origins.set(origin, calls + 1);
    else if (origin.length <= originCharactersMax && isOrigin(origin)) this.#addOrigin(origin, 1);
  }

  countPeak(limit: string, calls: number): void {
    if (calls > (this.peaks.get(limit) ?? 0)) this.peaks.set(limit, calls);
  }

  /** Merges all keys and drops origins and peaks, because across applications they have no meaning. */
  joinApplications(): void {
    const all = this.keyTotal;
    this.keys.clear();
    this.keys.set(otherKeys, all);
    this.origins.clear();
    this.peaks.clear();
  }

  get keyTotal(): KeyTally {
    const total = { calls: 0, signed: 0, registrations: 0 };
    for (const each of this.keys.values()) addTo(total, each);
    return total;
  }

  merge(other: Tally): void {
    for (const [keyId, counts] of other.keys) addTo(this.#key(keyId), counts);
    for (const [origin, calls] of other.origins) this.#addOrigin(origin, calls);
    for (const [limit, calls] of other.peaks) this.countPeak(limit, calls);
    for (const [index, count] of other.byClass.entries()) this.byClass[index as 0 | 1 | 2 | 3] += count; // four entries
    for (const name of sums) this[name] += other[name];
    for (const [operation, { calls, errors, latency }] of other.operations) {
      const counts = this.#operation(operation);
      counts.calls += calls;
      counts.errors += errors;
      if (latency === undefined) continue;
      counts.latency ??= new QuantileSketch();
      counts.latency.merge(latency);
    }
    for (const error of other.#errors.values()) this.#addError({ ...error });
    if (other.#hasOtherLatency) this.#addOtherLatency(other.#otherLatency);
    this.devices.merge(other.devices);
  }

  /** The milliseconds of all calls; undefined without calls. */
  latency(): QuantileSketch | undefined {
    const all = new QuantileSketch();
    let isEmpty = !this.#hasOtherLatency;
    if (this.#hasOtherLatency) all.merge(this.#otherLatency);
    for (const { latency } of this.operations.values()) {
      if (latency === undefined) continue;
      all.merge(latency);
      isEmpty = false;
    }
    return isEmpty ? undefined : all;
  }

  /**
   * Serializes the tally. Counts are always complete; to stay within `bytesMax`, it merges rare failures and the
   * latency of operations with few calls.
   */
  write(bytesMax: number): Uint8Array {
    for (let share = 1; ; share /= 2) {
      const bytes = this.#writeShare(share);
      if (bytes.length <= bytesMax || share < 1 / 256) return bytes;
    }
  }

  /** @throws MalformedBytesError */
  static read(bytes: Uint8Array): Tally {
    if (bytes.length > storedBytesMax) throw new MalformedBytesError(`A tally has ${bytes.length} bytes`);
    const reader = new ByteReader(bytes);
    const tally = new Tally();
    if (reader.integer() !== format) return tally; // of a later release, during a rolling upgrade
    for (const index of [0, 1, 2, 3] as const) tally.byClass[index] = reader.integer();
    for (const name of sums) tally[name] = reader.integer();
    for (let left = reader.integer(operationsMax); left > 0; left -= 1) {
      const [operation, calls, errors] = [reader.text(), reader.integer(), reader.integer()];
      const latency = reader.integer(1) === 1 ? QuantileSketch.read(reader) : undefined;
      tally.operations.set(operation, { calls, errors, latency });
    }
    for (let left = reader.integer(errorsInMemoryMax); left > 0; left -= 1) {
      const [operation, error, message, count] = [reader.text(), reader.text(), reader.text(), reader.integer()];
      tally.#errors.set(keyOf(operation, error, message), { operation, error, message, count });
    }
    if (reader.integer(1) === 1) tally.#addOtherLatency(QuantileSketch.read(reader));
    tally.devices.merge(DistinctCounter.read(devicePrecision, reader));
    if (reader.isAtEnd) return tally; // of a release that did not count by key
    for (let left = reader.integer(keysMax + 1); left > 0; left -= 1) {
      const keyId = reader.text();
      const [calls, signed, registrations] = [reader.integer(), reader.integer(), reader.integer()];
      tally.keys.set(keyId, { calls, signed, registrations });
    }
    if (reader.isAtEnd) return tally; // of a release that did not count by origin
    for (let left = reader.integer(originsMax); left > 0; left -= 1) tally.origins.set(reader.text(), reader.integer());
    if (reader.isAtEnd) return tally; // of a release without peaks
    for (let left = reader.integer(peaksMax); left > 0; left -= 1) tally.peaks.set(reader.text(), reader.integer());
    return tally;
  }

  #operation(name: string): OperationTally {
    let counts = this.operations.get(name);
    if (counts === undefined) {
      counts = { calls: 0, errors: 0, latency: undefined };
      this.operations.set(name, counts);
    }
    return counts;
  }

  #key(keyId: string): KeyTally {
    const known = this.keys.get(keyId) ?? (this.keys.size < keysMax ? undefined : this.keys.get(otherKeys));
    if (known !== undefined) return known;
    const counts = { calls: 0, signed: 0, registrations: 0 };
    this.keys.set(this.keys.size < keysMax ? keyId : otherKeys, counts);
    return counts;
  }

  /**
   * A new origin replaces the rarest one, unless all have more calls, so that a flood of invented origins cannot
   * displace a busy one.
   */
  #addOrigin(origin: string, calls: number): void {
    const known = this.origins.get(origin) ?? 0;
    if (known === 0 && this.origins.size >= originsMax) {
      const [rarest] = [...this.origins].reduce((one, other) => (other[1] < one[1] ? other : one));
      if ((this.origins.get(rarest) ?? 0) > calls) return;
      this.origins.delete(rarest);
    }
    this.origins.set(origin, known + calls);
  }

  #addError(error: ErrorTally): void {
    const key = keyOf(error.operation, error.error, error.message);
    const known = this.#errors.get(key);
    if (known !== undefined) known.count += error.count;
    else if (this.#errors.size < errorsInMemoryMax) this.#errors.set(key, error);
    else this.otherErrors += error.count;
  }

  #addOtherLatency(sketch: QuantileSketch): void {
    this.#hasOtherLatency = true;
    this.#otherLatency.merge(sketch);
  }

  /** @param share of the failures, and of the operations with separate latency */
  #writeShare(share: number): Uint8Array {
    const { errors } = this;
    const named = errors.slice(0, Math.floor(errorsWrittenMax * share));
    const unnamed = errors.slice(named.length).reduce((total, { count }) => total + count, 0);
    const byCalls = [...this.operations].sort(([, a], [, b]) => b.calls - a.calls);
    const withLatency = Math.floor(operationsWithLatencyMax * share);
    const others = new QuantileSketch();
    let hasOthers = this.#hasOtherLatency;
    if (hasOthers) others.merge(this.#otherLatency);

    const writer = new ByteWriter();
    writer.integer(format);
    for (const count of this.byClass) writer.integer(count);
    for (const name of sums) writer.integer(this[name] + (name === "otherErrors" ? unnamed : 0));
    writer.integer(byCalls.length);
    for (const [index, [operation, counts]] of byCalls.entries()) {
      writer.text(operation);
      writer.integer(counts.calls);
      writer.integer(counts.errors);
      const isOwn = counts.latency !== undefined && index < withLatency;
      writer.integer(isOwn ? 1 : 0);
      if (isOwn) counts.latency?.write(writer);
      else if (counts.latency !== undefined) {
        others.merge(counts.latency);
        hasOthers = true;
      }
    }
    writer.integer(named.length);
    for (const { operation, error, message, count } of named) {
      writer.text(operation);
      writer.text(error);
      writer.text(message);
      writer.integer(count);
    }
    writer.integer(hasOthers ? 1 : 0);
    if (hasOthers) others.write(writer);
    this.devices.write(writer);
    writer.integer(this.keys.size);
    for (const [keyId, { calls, signed, registrations }] of this.keys) {
      writer.text(keyId);
      for (const count of [calls, signed, registrations]) writer.integer(count);
    }
    writeNumbers(writer, highest(this.origins, originsMax, originsWrittenCharactersMax));
    writeNumbers(writer, highest(this.peaks, peaksMax, peaksWrittenCharactersMax));
    return writer.finish();
  }
}

const format = 2;

type NamedNumbers = readonly (readonly [name: string, number: number])[];

/** Returns the highest numbers that fit. */
function highest(numbers: ReadonlyMap<string, number>, max: number, charactersMax: number): NamedNumbers {
  let characters = 0;
  return [...numbers]
    .sort(([, a], [, b]) => b - a)
    .slice(0, max)
    .filter(([name]) => {
      characters += name.length;
      return characters <= charactersMax;
    });
}

function writeNumbers(writer: ByteWriter, numbers: NamedNumbers): void {
  writer.integer(numbers.length);
  for (const [name, number] of numbers) {
    writer.text(name);
    writer.integer(number);
  }
}

function addTo(total: KeyTally, { calls, signed, registrations }: KeyTally): void {
  total.calls += calls;
  total.signed += signed;
  total.registrations += registrations;
}

function keyOf(operation: string, error: string, message: string): string {
  return `${operation}\n${error}\n${message}`;
}

/** Returns a message without the references of a batch, which contain client data. */
function shownMessage(message: string): string {
  const shown = message.replaceAll(/\{\{.*?\}\}/g, "{{…}}");
  return shown.length <= messageCharactersMax ? shown : Array.from(shown).slice(0, messageCharactersMax).join("");
}

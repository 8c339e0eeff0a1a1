// Runs on one engine: no database takes part.
import assert from "node:assert/strict";
import { describe, it, mock } from "node:test";
import fc from "fast-check";
import { binaryColumns } from "../src/archives/load.ts";
import { schemaOf } from "../src/archives/schema.ts";
import { exportedTables } from "../src/archives/tables.ts";
import { parseTarHeader, tarHeader } from "../src/archives/tar.ts";
import { migrations } from "../src/db/migrations/list.ts";
import { findLocationBoxes } from "../src/files/files.without-location.ts";
import { ByteReader, ByteWriter, MalformedBytesError } from "../src/lib/bytes.ts";
import { DistinctCounter } from "../src/lib/distinct-counter.ts";
import { binOf, QuantileSketch } from "../src/lib/quantile-sketch.ts";
import { sniffPicture } from "../src/lib/sniffing.ts";
import { Cell, checkRollup, Groups, mergeRollups, readCount, writeRollup } from "../src/metrics/engine/rollups.ts";
import { FrameReader } from "../src/pictures/decoder-frames.ts";
import { Tally } from "../src/statistics/tally.ts";
import { rounds } from "./rounds.ts";

/** A decoder of stored or received bytes, with valid bytes, which the test alters. */
interface Decoder {
  readonly example: Uint8Array;
  /** Decodes the bytes, and uses the result as the server does. */
  use(bytes: Uint8Array): unknown;
}

const numbers = [0, 1, -1, 0.001, 1e9, -1e300, 5e-324, Number.MAX_VALUE];

function written(...all: readonly { write(writer: ByteWriter): void }[]): Uint8Array {
  const writer = new ByteWriter();
  for (const each of all) each.write(writer);
  return writer.finish();
}

function sketchOf(values: readonly number[]): QuantileSketch {
  const sketch = new QuantileSketch();
  for (const value of values) sketch.add(value, binOf(value));
  return sketch;
}

function counterOf(count: number): DistinctCounter {
  const counter = new DistinctCounter(8);
  for (let index = 0; index < count; index += 1) counter.add(((index + 1) * 0x9e3779b97f4a7) % 2 ** 52);
  return counter;
}

function cellOf(kind: "all" | "group"): Cell {
  const cell = new Cell(kind);
  for (const [index, value] of numbers.entries()) {
    cell.addEvent(index * 1e12, index);
    cell.addNumber(`name ${index % 3}`, value);
    cell.addText(`text ${index % 2}`);
  }
  return cell;
}

function groupsOf(): Groups {
  const groups = new Groups();
  for (let index = 0; index < 120; index += 1) groups.of(`${index}`).addNumber("n", index);
  return groups;
}

function tallyOf(): Tally {
  const tally = new Tally();
  for (const ms of [0, 1, 30, 500]) tally.count(`operation ${ms}`, { status: 200, ms, failure: undefined });
  tally.countKey("key", true);
  tally.countOrigin("https://a.example");
  tally.countPeak("caller", 12);
  tally.devices.add(1e12);
  return tally;
}

const shares = [0, 0.5, 1];

/** Decoders that throw a MalformedBytesError for invalid bytes. */
const strict: Readonly<Record<string, Decoder>> = {
  "a sketch of quantiles": {
    example: written(sketchOf(numbers)),
    use(bytes) {
      const sketch = QuantileSketch.read(new ByteReader(bytes));
      const sum = sketchOf(numbers);
      sum.merge(sketch);
      sum.quantiles(shares);
      sketch.merge(sum);
      QuantileSketch.read(new ByteReader(written(sketch)));
    },
  },
  "a few distinct hashes": { example: written(counterOf(10)), use: useCounter },
  "registers of a distinct count": { example: written(counterOf(1_000)), use: useCounter },
  "a roll-up of all events": { example: writeRollup(cellOf("all")), use: (bytes) => useRollup("", bytes) },
  "a roll-up of groups": { example: writeRollup(groupsOf()), use: (bytes) => useRollup("=name", bytes) },
  "a tally": {
    example: tallyOf().write(65_536),
    use(bytes) {
      const sum = tallyOf();
      sum.merge(Tally.read(bytes));
      sum.latency()?.quantiles(shares);
      Tally.read(sum.write(65_536));
    },
  },
};

function useCounter(bytes: Uint8Array): void {
  const counter = DistinctCounter.read(8, new ByteReader(bytes));
  const sum = counterOf(3);
  sum.merge(counter);
  assert.ok(sum.count() >= 0);
  DistinctCounter.read(8, new ByteReader(written(sum)));
}

function useRollup(dimension: string, bytes: Uint8Array): void {
  readCount(bytes);
  checkRollup(dimension, bytes);
  const added = dimension === "" ? cellOf("all") : groupsOf();
  checkRollup(dimension, writeRollup(mergeRollups(dimension, bytes, [added])));
}

/** Decoders that return undefined, or fewer values, for invalid bytes. */
const lenient: Readonly<Record<string, Decoder>> = {
  "the header of a tar entry": {
    example: tarHeader("tables/users/00000001.ndjson.gz", 12_345),
    use: (bytes) => parseTarHeader(Buffer.concat([bytes, Buffer.alloc(512)]).subarray(0, 512)),
  },
  "the head of a picture": {
    example: Buffer.from("\0\0\0\x20ftypmif1\0\0\0\0mif1avif", "latin1"),
    use: (bytes) => sniffPicture(bytes),
  },
  "frames of the decoder process": {
    example: Buffer.concat([Buffer.from([0, 0, 0, 3]), Buffer.from("abc"), Buffer.alloc(4)]),
    use(bytes) {
      try {
        for (const frame of new FrameReader(1_000).read(Buffer.from(bytes))) assert.ok(frame.length <= 1_000);
      } catch (error) {
        assert.ok(error instanceof RangeError);
      }
    },
  },
};

/** Random bytes, and the example truncated, extended, with replaced bytes, or with a repeated part. */
function altered(example: Uint8Array): fc.Arbitrary<Uint8Array> {
  const at = fc.nat(example.length);
  const piece = fc.oneof(
    fc.uint8Array({ maxLength: 12 }),
    fc.constantFrom(...[0x7f, 0x80, 0xff].map((byte) => new Uint8Array(9).fill(byte))),
  );
  const spliced = fc
    .tuple(at, fc.nat(4), piece)
    .map(([from, count, bytes]) =>
      Buffer.concat([example.subarray(0, from), bytes, example.subarray(Math.min(from + count, example.length))]),
    );
  return fc.oneof(
    fc.uint8Array({ maxLength: 2_000 }),
    at.map((end) => example.subarray(0, end)),
    { arbitrary: spliced, weight: 4 },
    fc.tuple(spliced, at).map(([bytes, from]) => Buffer.concat([bytes, example.subarray(from)])),
  );
}

/** Counts the numbers and views that decoders read. */
function countReads(work: () => void): number {
  const methods = (["integer", "raw"] as const).map((name) => mock.method(ByteReader.prototype, name));
  try {
    work();
  } finally {
    for (const { mock: each } of methods) each.restore();
  }
  return methods.reduce((sum, { mock: each }) => sum + each.callCount(), 0);
}

// hostile.md 39
describe("bytes from an archive, an upload or a damaged row", () => {
  for (const [name, { example, use }] of Object.entries(strict)) {
    it(`${name}: is decoded or refused with one error, with work in proportion to its length`, () => {
      use(example);
      fc.assert(
        fc.property(altered(example), (bytes) => {
          let refused: unknown;
          const reads = countReads(() => {
            try {
              use(bytes);
            } catch (error) {
              refused = error;
            }
          });
          assert.ok(refused === undefined || refused instanceof MalformedBytesError, String(refused));
          assert.ok(reads < 20_000 + 10 * bytes.length, `${reads} reads of ${bytes.length} bytes`);
        }),
        { numRuns: rounds(2_000) },
      );
    });
  }

  for (const [name, { example, use }] of Object.entries(lenient)) {
    it(`${name}: never fails in another way`, () => {
      use(example);
      fc.assert(
        fc.property(altered(example), (bytes) => void use(bytes)),
        { numRuns: rounds(2_000) },
      );
    });
  }

  it("a film: is examined in a bounded number of reads", async () => {
    const box = (type: string, ...parts: readonly Uint8Array[]) => {
      const content = Buffer.concat(parts);
      const head = Buffer.alloc(8);
      head.writeUInt32BE(content.length + 8);
      head.write(type, 4, "latin1");
      return Buffer.concat([head, content]);
    };
    const track = box("trak", box("mdia", box("minf", box("stbl", box("stsd", Buffer.alloc(20))))));
    const example = Buffer.concat([box("ftyp", Buffer.from("isom")), box("moov", track, box("udta", Buffer.alloc(9)))]);
    assert.equal((await findLocationBoxes(example.length, readsOf(example).read))?.length, 1);
    await fc.assert(
      fc.asyncProperty(altered(example), async (bytes) => {
        const { read, count } = readsOf(Buffer.from(bytes));
        await findLocationBoxes(bytes.length, read);
        assert.ok(count() <= 3_000, `${count()} reads`);
      }),
      { numRuns: rounds(2_000) },
    );
  });

  function readsOf(bytes: Buffer) {
    let reads = 0;
    return {
      count: () => reads,
      async read(start: number, end: number): Promise<Buffer> {
        reads += 1;
        return bytes.subarray(start, end);
      },
    };
  }

  it("every binary column of an application's archive has a decoder, with which an import refuses invalid bytes", () => {
    const schema = schemaOf(migrations.map(({ name }) => name));
    const columns = exportedTables.flatMap((table) =>
      [...(schema.get(table) ?? [])].flatMap(([column, { type }]) => (type === "blob" ? [`${table}.${column}`] : [])),
    );
    assert.deepEqual(columns.toSorted(), Object.keys(binaryColumns).toSorted());
  });
});

describe("bytes that made a server hang", () => {
  it("a sketch that was merged 2^52 times is refused", () => {
    const data = Buffer.from("AgAAAAAAAAAAAAAAAQRwaW5nAQABgICAgICAgAgBAAAAAAAAAAA=", "base64");
    assert.throws(() => Tally.read(data), MalformedBytesError);
  });

  it("the sum of counts near 2^53 can be read again", () => {
    const writer = new ByteWriter();
    writer.integer(2 * Number.MAX_SAFE_INTEGER);
    assert.equal(new ByteReader(writer.finish()).integer(), Number.MAX_SAFE_INTEGER);
  });
});

// Runs on one engine: no database takes part; the streams that walk are in events.streams.hostile.test.ts.
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { PlacedEvent } from "../event-log/log-rows.store.ts";
import type { EventStream } from "./events.stream.ts";
import { type Walk, Walks } from "./events.walks.ts";

const end = 1_000_000;

/** The properties of a stream that walks use. */
function streamAt(position: number, userId: string): EventStream {
  const stream = { caller: { userId, deviceId: "dev" }, filters: [], interest: userId, position, isEnded: false };
  return stream as unknown as EventStream;
}

/** Lets a walk read rows, some of which its streams receive. */
function read(walks: Walks, walk: Walk, rows: number, sent: number, now: number): void {
  const last = Math.min(walk.walkedTo + rows, end);
  const positions = Array.from({ length: last - walk.walkedTo }, (_, index) => walk.walkedTo + index + 1);
  walk.rows = positions.map((position) => ({ position }) as PlacedEvent);
  walks.pass(walk, { position: last, sent }, now);
  if (walk.walkedTo === end) walks.end(walk, now);
}

/** Adds streams, and starts a walk for each position. */
function walksOf(...streams: readonly EventStream[]): Walks {
  const walks = new Walks();
  for (const stream of streams) walks.add(stream);
  walks.admit(end, 0);
  return walks;
}

// spec/streams#resume
describe("walks of an application's streams", () => {
  it("alternate between the walk nearest to the end and a round robin", () => {
    const walks = walksOf(streamAt(1, "far"), streamAt(end - 20_000, "middle"), streamAt(end - 1, "near"));
    const turns = Array.from({ length: 12 }, () => walks.next(0)?.walkedTo);
    const countOf = (position: number) => turns.filter((each) => each === position).length;
    assert.ok(countOf(end - 1) >= 6, `${turns}`);
    assert.ok(countOf(1) >= 2 && countOf(end - 20_000) >= 2, `${turns}`);
  });

  it("are shared by streams at a similar distance, and later streams join a walk that has not reached them", () => {
    const walks = walksOf(...Array.from({ length: 500 }, (_, index) => streamAt(index * 2_000, `user ${index}`)));
    const found = new Set(Array.from({ length: 100 }, () => walks.next(0)));
    assert.ok(found.size <= 7, `${found.size} walks of 500 streams`);
    const late = streamAt(400_000, "late");
    walks.add(late);
    walks.admit(end, 0);
    assert.ok([...found].some((walk) => walk?.streams.has(late)));
  });

  it("are joined by a stream that was passed only in the next walk of its group", () => {
    const walks = walksOf(streamAt(end - 900, "first"));
    const walk = walks.next(0);
    assert.ok(walk);
    read(walks, walk, 500, 0, 0);
    const passed = streamAt(end - 901, "second");
    walks.add(passed);
    walks.admit(end, 0);
    assert.equal(walks.next(0), walk);
    assert.ok(!walk.streams.has(passed));
    read(walks, walk, 400, 0, 100);
    assert.ok((walks.admit(end, 100) ?? 0) > 0, "a pause, in which clients connect");
    assert.equal(walks.admit(end, 1_000), undefined);
    assert.ok(walks.next(1_000)?.streams.has(passed));
  });

  it("read a bounded number of rows per second for a caller, fewer if it receives them, and continue later", () => {
    for (const [sent, rowsMax] of [
      [0, 100_500],
      [500, 10_500],
    ] as const) {
      const walks = walksOf(streamAt(0, "one"));
      let rows = 0;
      for (let walk = walks.next(0); walk !== undefined; walk = walks.next(0)) {
        read(walks, walk, 500, sent, 0);
        rows += 500;
      }
      assert.ok(rows <= rowsMax && rows >= rowsMax - 1_000, `${rows} rows at once`);
      const waitMs = walks.waitMs(0) ?? 0;
      assert.ok(waitMs > 0 && waitMs < 100, `${waitMs} ms`);
      assert.ok(walks.next(waitMs));
    }
  });

  it("continue if a waiting stream's caller can be charged", () => {
    const walks = walksOf(streamAt(0, "one"));
    for (let walk = walks.next(0); walk !== undefined; walk = walks.next(0)) read(walks, walk, 500, 500, 0);
    const other = streamAt(0, "other");
    walks.add(other);
    walks.admit(end, 0);
    assert.ok(walks.next(0));
    walks.delete(other);
    assert.equal(walks.next(0), undefined);
  });
});

// Runs on one engine: no database takes part.
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { RowTap } from "./postgres-row-tap.ts";

const columns = [{ type: 25 }, { type: 20 }, { type: 701 }, { type: 16, parser: (text: string) => text === "t" }];

function message(type: string, body: Buffer): Buffer {
  const head = Buffer.alloc(5);
  head.write(type, "latin1");
  head.writeUInt32BE(body.length + 4, 1);
  return Buffer.concat([head, body]);
}

function row(...values: readonly (string | null)[]): Buffer {
  const count = Buffer.alloc(2);
  count.writeUInt16BE(values.length);
  const parts = values.flatMap((value) => {
    const length = Buffer.alloc(4);
    length.writeInt32BE(value === null ? -1 : Buffer.byteLength(value));
    return value === null ? [length] : [length, Buffer.from(value)];
  });
  return message("D", Buffer.concat([count, ...parts]));
}

const complete = message("C", Buffer.from("SELECT\0"));
const ready = message("Z", Buffer.from("I"));

/** A statement that the driver has been given. */
interface Given {
  active: boolean;
  readonly rows: Buffer[];
}

/** Keeps the order of its statements as the driver does, and records the rows that reach it. */
function startDriver({ retries = 0 } = {}) {
  const tap = new RowTap();
  const sent: Given[] = [];
  let left = retries;
  let received = Buffer.alloc(0);
  const types: string[] = [];
  const receive = tap.connect((bytes) => {
    received = Buffer.concat([received, bytes]);
    while (received.length >= 5 && received.length > received.readUInt32BE(1)) {
      const length = received.readUInt32BE(1) + 1;
      const each = received.subarray(0, length);
      received = received.subarray(length);
      types.push(each.toString("latin1", 0, 1));
      const [current] = sent;
      if (each[0] === 0x44) current?.rows.push(each);
      if (each[0] !== 0x5a || current === undefined) continue;
      sent.shift();
      if (left > 0) {
        left -= 1;
        sent.push(current); // stays active, as a statement that the driver sends again
      } else current.active = false;
      if (sent[0] !== undefined) sent[0].active = true;
    }
  });
  return {
    tap,
    types,
    receive,
    send(isTapped: boolean) {
      const given: Given = { active: sent.length === 0, rows: [] };
      sent.push(given);
      return { given, answer: tap.expect(given, isTapped) };
    },
  };
}

const resultOf = (count: number) => Object.assign([] as unknown[], { columns, count });

describe("a row tap", () => {
  const texts = ["plain", "", "日本 ü 🙂", "x".repeat(70_000)];
  const rows = texts.map((text, index) => [text, index - 2, index / 3, index % 2 === 0]);
  const sentRows = rows.map(([text, integer, double, boolean]) =>
    row(String(text), String(integer), String(double), boolean === true ? "t" : "f"),
  );

  for (const size of [1, 7, 64, 1_000_000]) {
    it(`gives each statement its own rows, and the driver the others, in pieces of ${size} bytes`, () => {
      const { send, receive, types } = startDriver();
      const [before, first, plain, second] = [send(false), send(true), send(false), send(true)];
      const nulls = row(null, null, null, null);
      const bytes = Buffer.concat([
        ...[complete, ready],
        ...[message("2", Buffer.alloc(0)), ...sentRows, complete, ready],
        ...[row("of the driver", "1", "2", "t"), complete, ready],
        ...[nulls, complete, ready],
      ]);
      for (let at = 0; at < bytes.length; at += size) receive(bytes.subarray(at, at + size));
      const [ofFirst, ofSecond] = [resultOf(rows.length), resultOf(1)];
      before.answer.finish(resultOf(0));
      first.answer.finish(ofFirst);
      plain.answer.finish(resultOf(1));
      second.answer.finish(ofSecond);
      assert.deepEqual([...ofFirst], rows);
      assert.deepEqual([...ofSecond], [[null, null, null, null]]);
      assert.equal(plain.given.rows.length, 1);
      assert.deepEqual(types.join(""), "CZ2CZDCZCZ");
    });
  }

  it("leaves the statements of the driver itself to it", () => {
    const { tap, receive, types } = startDriver();
    const waiting = { active: false };
    const answer = tap.expect(waiting, true);
    receive(Buffer.concat([ready, row("a"), complete, ready]));
    waiting.active = true;
    receive(Buffer.concat([row("mine", "1", "2", "t"), complete]));
    const result = resultOf(1);
    answer.finish(result);
    assert.deepEqual([...result], [["mine", 1, 2, true]]);
    assert.deepEqual(types.join(""), "ZDCZC");
  });

  it("finds the rows of a statement that the driver sends again behind the others", () => {
    const { send, receive } = startDriver({ retries: 1 });
    const [first, second] = [send(true), send(true)];
    receive(Buffer.concat([message("E", Buffer.from("\0")), ready]));
    receive(Buffer.concat([row("second", "2", "2", "t"), complete, ready]));
    receive(Buffer.concat([row("first", "1", "1", "t"), complete, ready]));
    const results = [resultOf(1), resultOf(1)];
    for (const [index, { answer }] of [first, second].entries()) answer.finish(results[index]);
    assert.deepEqual(
      results.map(([found]) => (found as unknown[])[0]),
      ["first", "second"],
    );
  });

  it("forgets a statement that failed before it was sent", () => {
    const { tap, send, receive } = startDriver();
    tap.expect({ active: false }, true).finish();
    const { answer } = send(true);
    receive(Buffer.concat([row("mine", "1", "2", "f"), complete, ready]));
    const result = resultOf(1);
    answer.finish(result);
    assert.deepEqual([...result], [["mine", 1, 2, false]]);
  });

  it("fails a statement whose rows do not match its result", () => {
    for (const [sent, count] of [
      [[], 1],
      [[row("a", "1", "2", "t")], 2],
      [[row("one column")], 1],
    ] as const) {
      const { send, receive } = startDriver();
      const { answer } = send(true);
      receive(Buffer.concat([...sent, complete, ready]));
      assert.throws(() => answer.finish(resultOf(count)), /missing|does not belong/);
    }
  });

  it("expects no rows of a statement that returns none, however many it adds", () => {
    const { send, receive } = startDriver();
    const { answer } = send(true);
    receive(Buffer.concat([complete, ready]));
    answer.finish(Object.assign([] as unknown[], { columns: [], count: 32 }));
  });
});

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { createAgeCheck, createIdGenerator, idPatternOf, kindOfId } from "./ids.ts";
import { type IdKind, kinds } from "./kinds.ts";

// spec/transport#ids
describe("ids", () => {
  it("contain their kind", () => {
    const ids = createIdGenerator(Date.now);
    for (const kind of Object.keys(kinds) as IdKind[]) {
      assert.equal(kindOfId(ids.newId(kind)), kind);
      assert.match(ids.newId(kind), new RegExp(idPatternOf(kind)));
    }
  });

  it("are the only strings that have a kind", () => {
    const id = createIdGenerator(Date.now).newId("User");
    for (const text of [
      "",
      "42",
      "usr_",
      id.slice(0, -1),
      `${id}0`,
      id.toUpperCase(),
      `xxx${id.slice(3)}`,
      `${id}\n`,
    ]) {
      assert.equal(kindOfId(text), undefined, JSON.stringify(text));
    }
  });

  it("pass an age check of a minute, unless they are older or from further in the future", () => {
    const isNew = createAgeCheck("Device", 60_000);
    const madeAt = 1_700_000_000_500;
    const id = createIdGenerator(() => madeAt).newId("Device");
    const found = [-3_600_000, -61_000, -59_000, 0, 59_000, 60_000, 3_600_000].map((ms) => isNew(id, madeAt + ms));
    assert.deepEqual(found, [false, false, true, true, true, false, false]);
  });

  it("sort by creation and are unique, even if the clock stands still or steps back", () => {
    let now = Date.UTC(2026, 0, 1);
    const ids = createIdGenerator(() => now);
    const made: string[] = [];
    for (let i = 0; i < 5_000; i++) {
      if (i === 1_000) now -= 3_600_000;
      if (i === 4_000) now += 7_200_000;
      made.push(ids.newId("Checkin"));
    }
    assert.deepEqual([...made].sort(), made);
    assert.equal(new Set(made).size, made.length);
  });
});

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { memoryStore } from "./memory-store.ts";
import { createRecords } from "./records.ts";
import type { Store } from "./store.ts";

function recordsOf(store: Store) {
  const failures: unknown[] = [];
  const warnings: string[] = [];
  const records = createRecords({
    store,
    prefix: "rollcall:app:url:",
    onFailed: (error) => failures.push(error),
    onWarning: (message) => warnings.push(message),
    lock: (_, work) => work(),
  });
  return { records, failures, warnings };
}

/** A store that rejects every operation for which `fails` returns true. */
function failing(store: Store, fails: () => boolean): Store {
  const guarded = <T>(work: () => T): T => {
    if (fails()) throw new Error("disk full");
    return work();
  };
  return {
    durability: store.durability,
    get: (key) => guarded(() => store.get(key)),
    set: (key, value) => guarded(() => store.set(key, value)),
    delete: (key) => guarded(() => store.delete(key)),
    list: (prefix) => guarded(() => store.list(prefix)),
  };
}

const pattern = { text: "" };

describe("records in a store", () => {
  it("have keys that begin with the prefix of the client", async () => {
    const store = memoryStore();
    await recordsOf(store).records.write("name", { text: "a" });
    assert.deepEqual(await store.list(""), ["rollcall:app:url:name"]);
  });

  it("count as absent, with one warning, when the store cannot read them", async () => {
    const texts = ["", "{", "null", "1", '{"v":2,"text":"a"}', '{"text":"a"}', '{"v":1}', '{"v":1,"text":1}'];
    for (const text of texts) {
      const store = memoryStore();
      store.set("rollcall:app:url:name", text);
      const { records, warnings } = recordsOf(store);
      assert.equal(await records.read("name", pattern), undefined);
      assert.equal(await records.read("name", pattern), undefined);
      assert.equal(warnings.length, 1);
      assert.equal((await records.claim("name", { text: "new" })).text, "new");
      assert.equal((await records.read("name", pattern))?.text, "new");
    }
  });

  it("are claimed once in a store without putIfAbsent, unless another write comes between", async () => {
    const store = failing(memoryStore(), () => false);
    assert.equal((await recordsOf(store).records.claim("name", { text: "first" })).text, "first");
    assert.equal((await recordsOf(store).records.claim("name", { text: "second" })).text, "first");
  });

  it("have the value that was written last, whichever operations of the store fail", async () => {
    const name = fc.constantFrom("a:1", "a:2", "b");
    const step = fc.record({
      work: fc.constantFrom("write", "remove", "read", "list", "claim"),
      name,
      text: fc.string(),
      fails: fc.boolean(),
    });
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 40 }), async (steps) => {
        let fails = false;
        const { records, failures } = recordsOf(failing(memoryStore(), () => fails));
        const expected = new Map<string, string>();
        for (const { work, name, text, ...step } of steps) {
          fails = step.fails;
          if (work === "write") {
            await records.write(name, { text });
            expected.set(name, text);
          } else if (work === "remove") {
            await records.remove(name);
            expected.delete(name);
          } else if (work === "claim") {
            if (!expected.has(name)) expected.set(name, text);
            assert.equal((await records.claim(name, { text })).text, expected.get(name));
          } else if (work === "read") {
            assert.equal((await records.read(name, pattern))?.text, expected.get(name));
          } else {
            const names = [...expected.keys()].filter((key) => key.startsWith("a:")).sort();
            assert.deepEqual(await records.list("a:"), names);
          }
        }
        assert.ok(failures.length <= 1, "reported once");
      }),
    );
  });

  it("are read from memory when the store never answers", async (t) => {
    t.mock.timers.enable({ apis: ["setTimeout"] });
    const hanging: Store = { ...memoryStore(), set: () => new Promise(() => {}) };
    const { records, failures } = recordsOf(hanging);
    const written = records.write("name", { text: "a" });
    t.mock.timers.tick(5_000);
    await written;
    assert.equal((await records.read("name", pattern))?.text, "a");
    assert.equal(failures.length, 1);
  });

  it("wait once for a store that does not answer, and use it again later", async (t) => {
    t.mock.timers.enable({ apis: ["setTimeout", "Date"] });
    const store = memoryStore();
    let isSilent = true;
    let asked = 0;
    const get = (key: string) => {
      asked += 1;
      return isSilent ? new Promise<undefined>(() => {}) : store.get(key);
    };
    const { records } = recordsOf({ ...store, get });
    const read = records.read("name", pattern);
    t.mock.timers.tick(5_000);
    assert.equal(await read, undefined);
    assert.equal(await records.read("name", pattern), undefined);
    assert.equal(asked, 1);
    isSilent = false;
    store.set("rollcall:app:url:name", '{"v":1,"text":"stored"}');
    t.mock.timers.tick(60_000);
    assert.equal((await records.read("name", pattern))?.text, "stored");
  });
});

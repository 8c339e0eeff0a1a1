import type { Store } from "../src/identity/store.ts";

/**
 * The guarantees of every store, by title. The browser suite runs these in a page, so they need no module
 * of Node.js.
 *
 * @param store an empty store
 */
export const storeRules: Readonly<Record<string, (store: Store) => Promise<void>>> = {
  async "a key that was never set is absent"(store) {
    equal(await store.get("absent"), undefined);
    await store.delete("absent");
  },
  async "the last value of a key counts, until the key is deleted"(store) {
    await store.set("key", "first");
    await store.set("key", "second");
    equal(await store.get("key"), "second");
    await store.delete("key");
    equal(await store.get("key"), undefined);
  },
  async "keys and values of any text are kept to the letter"(store) {
    const texts = ["", "a/b\\c", "../up", "ä 日本 👍", "\u0000\n", "x".repeat(2_000), "rollcall:app:https%3A%2F%2Fx"];
    for (const text of texts) await store.set(`k${text}`, text);
    for (const text of texts) equal(await store.get(`k${text}`), text);
  },
  async "a listing holds the keys of a prefix, sorted"(store) {
    for (const key of ["b:2", "a:9", "b:10", "b", "b:1", "c"]) await store.set(key, "value");
    await store.delete("b:1");
    equal((await store.list("b:")).join(), "b:10,b:2");
    equal((await store.list("d")).join(), "");
  },
  async "of many that set an absent key at once, one succeeds and all get its value"(store) {
    const { putIfAbsent } = store;
    if (putIfAbsent === undefined) throw new Error("no putIfAbsent");
    const values = Array.from({ length: 20 }, (_, index) => `value ${index}`);
    const got = await Promise.all(values.map((value) => putIfAbsent.call(store, "claimed", value)));
    const kept = await store.get("claimed");
    equal(new Set(got).size, 1);
    equal(got[0], kept);
    equal(await putIfAbsent.call(store, "claimed", "late"), kept);
  },
};

function equal(actual: unknown, expected: unknown): void {
  if (actual !== expected) throw new Error(`${JSON.stringify(actual)} instead of ${JSON.stringify(expected)}`);
}

import type { Store } from "./store.ts";

/** Creates a store in memory, which is lost when the process exits or the page closes. */
export function memoryStore(): Store {
  const values = new Map<string, string>();
  return {
    durability: "memory",
    get: (key) => values.get(key),
    set: (key, value) => void values.set(key, value),
    delete: (key) => void values.delete(key),
    list: (prefix) => [...values.keys()].filter((key) => key.startsWith(prefix)).sort(),
    putIfAbsent(key, value) {
      const present = values.get(key);
      if (present === undefined) values.set(key, value);
      return present ?? value;
    },
  };
}

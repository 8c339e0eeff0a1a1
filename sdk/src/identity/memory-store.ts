import type { Store } from "./store.ts";

/** A store that ends with the process or the page. */
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

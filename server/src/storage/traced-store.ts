import { runAsPart } from "../lib/current-call.ts";
import type { ByteStore } from "./byte-store.ts";

/** Wraps a store so that its calls appear in the trace of a request. */
export function traceStore(store: ByteStore): ByteStore {
  return {
    ...store,
    write: (key, bytes, options) => runAsPart("write bytes", () => store.write(key, bytes, options)),
    read: (key, range) => runAsPart("open bytes", () => store.read(key, range)),
    size: (key) => runAsPart("size of bytes", () => store.size(key)),
    deleteAll: (prefix, signal) => runAsPart("delete bytes", () => store.deleteAll(prefix, signal)),
  };
}

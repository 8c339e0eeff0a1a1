import { describe, it } from "node:test";
import { storeRules } from "../../test/store-rules.ts";
import { memoryStore } from "./memory-store.ts";

describe("memoryStore", () => {
  for (const [title, rule] of Object.entries(storeRules)) it(title, () => rule(memoryStore()));
});

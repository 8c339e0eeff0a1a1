import { type Content, compose, encode, type Mood, type Named } from "./compose.ts";
import type { Operation } from "./document.ts";
import { plain } from "./encoding.ts";
import { hostileText } from "./hostile.ts";
import type { Setting } from "./recipes.ts";
import { oddCase } from "./values.ts";

/** The request of one item of a batch. */
interface Item {
  readonly key?: unknown;
  readonly method?: unknown;
  readonly path?: unknown;
  readonly parameters?: unknown;
  readonly idempotencyKey?: unknown;
}

/** A batch whose items are as hostile as the batch itself. */
export function composeBatch(setting: Setting, mood: Mood, operations: readonly Operation[]): Content {
  const { random, caller } = setting;
  const kind = caller?.kind ?? "user";
  const count = random.chance(0.03) ? 201 : mood === "wild" && random.chance(0.1) ? 0 : 1 + random.below(6);
  // Slow calls, and calls that revoke the caller's token, are fuzzed outside of batches.
  const fitting = operations.filter(({ id, caller: needed, takes }) => {
    const isFitting = needed === kind || needed === "device" || needed === "anyone";
    return !apart.has(id) && takes !== "bytes" && (isFitting || random.chance(0.03));
  });
  const few = count > 100 ? fitting.filter(({ id }) => id === "ping") : fitting;
  const hasReferences = random.chance(0.3);
  const items = Array.from({ length: count }, (_, index) => composeItem(index, setting, mood, few, hasReferences));
  const requests =
    mood === "wild" && random.chance(0.2)
      ? random.pick([hostileText(random), [null, 1, "x", []], {}, [[items]]])
      : items;
  const body: Named[] = [["requests", random.chance(0.1) ? JSON.stringify(requests) : requests]];
  if (random.chance(0.5)) body.push(["mode", oddCase(random.pick(["independent", "sequential", "atomic"]), random)]);
  if (hasReferences) body.push(["references", random.pick([true, "true", 1])]);
  return { method: "POST", path: "/batch", query: [], body, headers: [] };
}

const apart: ReadonlySet<string> = new Set([
  ...["deleteUser", "logoutUser", "endToken", "changeUser", "requestPasswordReset", "resetPassword"],
]);

function composeItem(
  index: number,
  setting: Setting,
  mood: Mood,
  operations: readonly Operation[],
  hasReferences: boolean,
): Item {
  const { random } = setting;
  const operation = random.pick(operations) ?? setting.operation;
  const composed = compose({ ...setting, operation }, random.chance(0.6) ? "honest" : mood);
  const isInQuery = operation.method === "GET" && random.chance(0.5);
  const named = isInQuery ? composed.query : [...composed.query, ...composed.body];
  const search = isInQuery
    ? composed.query.map(([name, value]) => `${encode(name)}=${encode(plain(value))}`).join("&")
    : "";
  const path = search === "" ? composed.path : `${composed.path}?${search}`;
  const parameters = isInQuery ? {} : Object.fromEntries(named);
  if (hasReferences && index > 0 && random.chance(0.5)) {
    const reference = random.pick([
      "{{0.result.id}}",
      "{{k1.result.id}}",
      "{{9.result}}",
      "{{0.result.__proto__}}",
      "{{",
      "{{0}}",
      "\\{{x}}",
    ]);
    if (random.chance(0.5))
      return { method: operation.method, path: path.replace(/[a-z]{3}_\w{26}/, reference), parameters };
    return { method: operation.method, path, parameters: { ...parameters, comment: reference, tag: `a ${reference}` } };
  }
  return {
    ...(random.chance(0.3) && { key: mood === "wild" ? hostileText(random) : `k${index}` }),
    method: mood === "wild" && random.chance(0.1) ? random.pick(["BREW", "", 1, null, "delete"]) : operation.method,
    path:
      mood === "wild" && random.chance(0.1) ? random.pick([hostileText(random), "", "/batch", "https://x/", 7]) : path,
    parameters: mood === "wild" && random.chance(0.1) ? random.pick([null, [], "x", 1]) : parameters,
    ...(random.chance(0.1) && { idempotencyKey: `key-${random.word(2)}` }),
  };
}

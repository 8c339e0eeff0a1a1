import { type Addition, placeholders } from "../prepared.ts";
import { createTickQueue, type Waiting } from "./lookups.ts";
import type { RunStatement } from "./pool.ts";

type Additions = readonly Waiting<readonly unknown[]>[];

/** Statements have only these numbers of rows, so that each connection prepares few of them. */
const sizes = [32, 16, 8, 4, 2, 1];

/** Sends equal additions that are requested in one tick as one statement of several rows. */
export function createAdditions(
  run: RunStatement,
): (addition: Addition, values: readonly unknown[]) => Promise<unknown[]> {
  async function send(addition: Addition, waiting: Additions): Promise<void> {
    const values = waiting.flatMap((each) => each.values);
    const calls = waiting.map(({ call }) => call);
    try {
      const returned = rowsByKey(addition, await run(textFor(addition, waiting.length), values, { calls }));
      for (const { values, resolve } of waiting) {
        const key = keyTexts(addition, values).find((each) => returned.has(each));
        resolve(key === undefined ? [] : [returned.get(key)]);
      }
    } catch (error) {
      for (const { reject } of waiting) reject(error);
    }
  }

  return createTickQueue((addition, waiting) => {
    for (const distinct of splitByKey(addition, waiting)) {
      for (const rows of splitBySize(distinct)) void send(addition, rows);
    }
  });
}

const texts = new WeakMap<Addition, Map<number, string>>();

/** The statement that adds this number of rows. */
function textFor(addition: Addition, count: number): string {
  const ofAddition = texts.getOrInsertComputed(addition, () => new Map<number, string>());
  return ofAddition.getOrInsertComputed(count, () => {
    const { head, tail, columnCount } = addition;
    const rows = Array.from({ length: count }, (_, row) => `(${placeholders(row * columnCount, columnCount)})`);
    return `${head} ${rows.join(", ")}${tail}`;
  });
}

/** The returned rows, by each of their unique keys. */
function rowsByKey({ keys }: Addition, rows: Iterable<Record<string, unknown>>): ReadonlyMap<string, unknown> {
  const returned = new Map<string, unknown>();
  for (const row of rows) {
    for (const { column, index } of keys) returned.set(keyText(index, row[column]), row);
  }
  return returned;
}

/** One statement can neither add nor update the same row twice. */
function splitByKey(addition: Addition, waiting: Additions): Additions[] {
  const groups: { keys: Set<string>; members: Waiting<readonly unknown[]>[] }[] = [];
  for (const one of waiting) {
    const keys = keyTexts(addition, one.values);
    let group = groups.find((each) => keys.every((key) => !each.keys.has(key)));
    if (group === undefined) {
      group = { keys: new Set(), members: [] };
      groups.push(group);
    }
    for (const key of keys) group.keys.add(key);
    group.members.push(one);
  }
  return groups.map(({ members }) => members);
}

function keyTexts({ keys }: Addition, values: readonly unknown[]): string[] {
  return keys.filter(({ index }) => values[index] !== null).map(({ index }) => keyText(index, values[index]));
}

function keyText(index: number, value: unknown): string {
  return `${index} ${value}`;
}

function splitBySize(waiting: Additions): Additions[] {
  const parts: Additions[] = [];
  let from = 0;
  for (const size of sizes) {
    for (; waiting.length - from >= size; from += size) parts.push(waiting.slice(from, from + size));
  }
  return parts;
}

import type { ArrayRows, LookupRunners } from "./postgres-lookups.ts";
import { type Addition, placeholders } from "./prepared.ts";
import { createTickQueue, type Waiting } from "./tick-queue.ts";

type Rows = readonly Waiting<readonly unknown[]>[];

/** Only these numbers of rows are sent together, so that each connection prepares few statements. */
const sizes = [32, 16, 8, 4, 2, 1];

/** Sends equal additions that are requested in one tick of the event loop as one statement of several rows. */
export function createAdditions(
  runTogether: LookupRunners["together"],
): (addition: Addition, values: readonly unknown[]) => Promise<unknown[]> {
  function send(addition: Addition, waiting: Rows): void {
    const values = waiting.flatMap((each) => each.values);
    const calls = waiting.map(({ call }) => call);
    runTogether(textFor(addition, waiting.length), values, calls).then(
      (found) => {
        const returned = rowsByKey(addition, found);
        for (const { values, resolve } of waiting) {
          const key = keyTexts(addition, values).find((each) => returned.has(each));
          resolve(key === undefined ? [] : [returned.get(key)]);
        }
      },
      (error) => {
        for (const { reject } of waiting) reject(error);
      },
    );
  }

  return createTickQueue((addition, waiting) => {
    for (const distinct of splitByKey(addition, waiting)) {
      for (const rows of splitBySize(distinct)) send(addition, rows);
    }
  });
}

const texts = new WeakMap<Addition, Map<number, string>>();

/** The statement that adds so many rows. */
function textFor(addition: Addition, count: number): string {
  const known = texts.get(addition) ?? new Map<number, string>();
  texts.set(addition, known);
  let text = known.get(count);
  if (text === undefined) {
    const { head, tail, columnCount } = addition;
    const rows = Array.from({ length: count }, (_, row) => `(${placeholders(row * columnCount, columnCount)})`);
    text = `${head} ${rows.join(", ")}${tail}`;
    known.set(count, text);
  }
  return text;
}

/** The returned rows, by each of their unique keys. */
function rowsByKey({ keys }: Addition, { columns, rows }: ArrayRows): ReadonlyMap<string, unknown> {
  const returned = new Map<string, unknown>();
  for (const values of rows) {
    const row = Object.fromEntries(columns.map((column, index) => [column, values[index]]));
    for (const { column, index } of keys) returned.set(keyText(index, row[column]), row);
  }
  return returned;
}

/** One statement can neither add nor update the same row twice. */
function splitByKey(addition: Addition, waiting: Rows): Rows[] {
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

function splitBySize(waiting: Rows): Rows[] {
  const parts: Rows[] = [];
  let from = 0;
  for (const size of sizes) {
    for (; waiting.length - from >= size; from += size) parts.push(waiting.slice(from, from + size));
  }
  return parts;
}

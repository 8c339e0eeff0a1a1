import { type CurrentCall, currentCall } from "../lib/current-call.ts";
import type { LookupRunners } from "./postgres-lookups.ts";
import { type Addition, placeholders } from "./prepared.ts";
import { compileRow } from "./row-of-values.ts";

interface Waiting {
  readonly values: readonly unknown[];
  readonly call: CurrentCall | undefined;
  readonly resolve: (rows: unknown[]) => void;
  readonly reject: (error: unknown) => void;
}

/** Only these numbers of rows are sent together, so that each connection prepares few statements. */
const sizes = [32, 16, 8, 4, 2, 1];

/** Sends equal additions that are requested in one tick of the event loop as one statement of several rows. */
export function createAdditions(
  runTogether: LookupRunners["together"],
): (addition: Addition, values: readonly unknown[]) => Promise<unknown[]> {
  let groups = new Map<Addition, Waiting[]>();

  function flush(): void {
    const flushed = groups;
    groups = new Map();
    for (const [addition, waiting] of flushed) {
      for (const distinct of splitByKey(addition, waiting)) {
        for (const rows of splitBySize(distinct)) send(addition, rows);
      }
    }
  }

  function send(addition: Addition, waiting: readonly Waiting[]): void {
    const { head, tail, keys, columnCount } = addition;
    const rows = waiting.map((_, row) => `(${placeholders(row * columnCount, columnCount)})`);
    const values = waiting.flatMap((each) => each.values);
    const calls = waiting.map(({ call }) => call);
    runTogether(`${head} ${rows.join(", ")}${tail}`, values, calls).then(
      ({ columns, rows }) => {
        const toRow = compileRow(columns);
        const returned = new Map<string, unknown>();
        for (const row of rows) {
          for (const { column, index } of keys) returned.set(keyText(index, row[columns.indexOf(column)]), toRow(row));
        }
        for (const { values, resolve } of waiting) {
          const found = keyTexts(addition, values).find((key) => returned.has(key));
          resolve(found === undefined ? [] : [returned.get(found)]);
        }
      },
      (error) => {
        for (const { reject } of waiting) reject(error);
      },
    );
  }

  return (addition, values) =>
    new Promise((resolve, reject) => {
      if (groups.size === 0) setImmediate(flush);
      const one = { values, call: currentCall(), resolve, reject };
      const waiting = groups.get(addition);
      if (waiting === undefined) groups.set(addition, [one]);
      else waiting.push(one);
    });
}

/** One statement can neither add nor update the same row twice. */
function splitByKey(addition: Addition, waiting: readonly Waiting[]): Waiting[][] {
  const groups: { keys: Set<string>; members: Waiting[] }[] = [];
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

function splitBySize(waiting: readonly Waiting[]): Waiting[][] {
  const parts: Waiting[][] = [];
  let from = 0;
  for (const size of sizes) {
    for (; waiting.length - from >= size; from += size) parts.push(waiting.slice(from, from + size));
  }
  return parts;
}

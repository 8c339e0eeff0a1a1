import { type Addition, placeholders } from "../prepared.ts";
import { createTickQueue, type Waiting } from "../tick-queue.ts";
import { type ArrayRows, arrayLiteral, type LookupRunners } from "./lookups.ts";

type Rows = readonly Waiting<readonly unknown[]>[];

/** Lists have only these numbers of rows, so that each connection prepares few statements. */
const sizes = [32, 16, 8, 4, 2, 1];

/**
 * Sends equal additions that are requested in one tick as one statement of several rows.
 *
 * @param takesArrays false for a distributed database: it sends a list of rows to their one shard, but would gather
 * rows in arrays first
 */
export function createAdditions(
  runBatched: LookupRunners["batched"],
  takesArrays: () => boolean,
): (addition: Addition, values: readonly unknown[]) => Promise<unknown[]> {
  function sendList(addition: Addition, waiting: Rows): void {
    const values = waiting.flatMap((each) => each.values);
    send(addition, waiting, textFor(addition, waiting.length), values, ({ types }) => {
      if (!arrayTexts.has(addition)) arrayTexts.set(addition, textOfArrays(addition, types));
    });
  }

  function send(
    addition: Addition,
    waiting: Rows,
    text: string,
    values: unknown[],
    note?: (found: ArrayRows) => void,
  ): void {
    const calls = waiting.map(({ call }) => call);
    runBatched(text, values, calls).then(
      (found) => {
        note?.(found);
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
    const arrayText = takesArrays() ? arrayTexts.get(addition) : undefined;
    for (const distinct of splitByKey(addition, waiting)) {
      // A missing value would become null in an array; the statement of a list refuses it.
      const isComplete = distinct.length > 1 && !distinct.some(({ values }) => values.includes(undefined));
      const text = isComplete ? arrayText : undefined;
      if (text === undefined) {
        for (const rows of splitBySize(distinct)) sendList(addition, rows);
      } else {
        const columns = Array.from({ length: addition.columnCount }, (_, index) =>
          arrayLiteral(distinct.map(({ values }) => values[index])),
        );
        send(addition, distinct, text, columns);
      }
    }
  });
}

const texts = new WeakMap<Addition, Map<number, string>>();

/** The statement that adds this number of rows. */
function textFor(addition: Addition, count: number): string {
  const compiled = texts.get(addition) ?? new Map<number, string>();
  texts.set(addition, compiled);
  let text = compiled.get(count);
  if (text === undefined) {
    const { head, tail, columnCount } = addition;
    const rows = Array.from({ length: count }, (_, row) => `(${placeholders(row * columnCount, columnCount)})`);
    text = `${head} ${rows.join(", ")}${tail}`;
    compiled.set(count, text);
  }
  return text;
}

/**
 * The statements that add any number of rows from one array per column: an array costs the driver and the server less
 * than a parameter per value. Undefined for a column whose type has no array form here.
 */
const arrayTexts = new WeakMap<Addition, string | undefined>();

/** The types of our columns, as PostgreSQL numbers them. */
const typeNames: ReadonlyMap<number, string> = new Map([
  [20, "bigint"],
  [25, "text"],
  [701, "double precision"],
]);

/** @param types of the parameters of one row, perhaps followed by the types of other rows */
function textOfArrays({ head, tail, columnCount }: Addition, types: readonly number[]): string | undefined {
  const names = types.slice(0, columnCount).map((type) => typeNames.get(type));
  if (names.length < columnCount || names.includes(undefined) || !head.endsWith(valuesWord)) return undefined;
  const arrays = names.map((name, index) => `$${index + 1}::${name}[]`);
  return `${head.slice(0, -valuesWord.length)} select * from unnest(${arrays.join(", ")})${tail}`;
}

const valuesWord = " values";

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

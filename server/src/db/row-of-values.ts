import { compileObject } from "../lib/compile-object.ts";

/** Creates the object of a row. */
export type ToRow = (values: readonly unknown[]) => unknown;

/**
 * Returns a function that turns the values of a row into an object.
 *
 * @param from the index of the first column's value
 */
export function compileRow(columns: readonly string[], from = 0): ToRow {
  return compileObject(columns.map((name, index) => ({ name, from: index + from })));
}

/** Caches the compiled function of one statement until its columns change, for example after a migration. */
export function createRowCompiler(from = 0): (columns: readonly string[]) => ToRow {
  let compiledFor: readonly string[] = [];
  let toRow = compileRow(compiledFor);
  return (columns) => {
    if (columns.length !== compiledFor.length || columns.some((name, index) => name !== compiledFor[index])) {
      compiledFor = columns;
      toRow = compileRow(columns.slice(from), from);
    }
    return toRow;
  };
}

/** Makes the object of a row. */
export type ToRow = (values: readonly unknown[]) => unknown;

/**
 * Compiles a function that turns the values of a row into an object. Objects created with a fixed shape are faster to
 * make and read than those of a driver.
 *
 * @param columns names that our own statements give to their results
 * @param from the index of the first column's value
 */
export function compileRow(columns: readonly string[], from = 0): ToRow {
  const members = columns.map((name, index) => `${JSON.stringify(name)}: values[${index + from}]`);
  // Its only parameter.
  return new Function("values", `return { ${members.join(", ")} };`) as ToRow;
}

/** Keeps the compiled function of one statement until its columns change, as a migration may change them. */
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

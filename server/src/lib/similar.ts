/**
 * Returns the number of characters to insert, delete, replace, or swap with their neighbour to turn one word into the
 * other (optimal string alignment).
 */
function editDistance(a: string, b: string): number {
  let [twoBefore, before]: [number[], number[]] = [[], Array.from({ length: b.length + 1 }, (_, column) => column)];
  for (let row = 1; row <= a.length; row += 1) {
    const current = [row];
    for (let column = 1; column <= b.length; column += 1) {
      const isSame = a[row - 1] === b[column - 1];
      const isSwap = row > 1 && column > 1 && a[row - 1] === b[column - 2] && a[row - 2] === b[column - 1];
      current[column] = Math.min(
        (before[column] ?? 0) + 1,
        (current[column - 1] ?? 0) + 1,
        (before[column - 1] ?? 0) + (isSame ? 0 : 1),
        isSwap ? (twoBefore[column - 2] ?? 0) + 1 : Number.POSITIVE_INFINITY,
      );
    }
    [twoBefore, before] = [before, current];
  }
  return before[b.length] ?? 0;
}

/** Returns the candidates and their distances, by ascending distance. */
export function rankSimilar<Word extends string>(
  word: string,
  known: readonly Word[],
): readonly { readonly word: Word; readonly distance: number }[] {
  return known
    .map((each) => ({ word: each, distance: editDistance(word, each) }))
    .sort((a, b) => a.distance - b.distance);
}

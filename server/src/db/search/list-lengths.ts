/** The longest list of a statement, which bounds its time. */
export const listLengthMax = 500;

/** Few lengths, because each text of a statement is compiled and planned. */
const lengths = [1, 4, 16, 64, listLengthMax];

/**
 * Repeats the first item until the list has one of a few lengths, for statements in which a repeated item does no harm.
 *
 * @param items 1 to {@link listLengthMax} of them
 */
export function padList<Item>(items: readonly Item[]): readonly Item[] {
  const length = lengths.find((each) => each >= items.length) ?? items.length;
  return Array.from({ length }, (_, index) => (items[index] ?? items[0]) as Item); // there is one
}

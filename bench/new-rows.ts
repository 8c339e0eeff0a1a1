const digitsMin = 17;

/**
 * Makes rows like a sample: the same values, except for the unique columns of our tables, `id` and `unique_id`. These
 * start like the sample and continue with the time and a count, so that they sort by creation.
 */
export function createNewRows<Value>(sample: Readonly<Record<string, Value>> | undefined): () => (Value | string)[] {
  if (sample === undefined) throw new Error("a ceiling needs a sample row, and the table is empty");
  const values: (Value | string)[] = Object.values(sample);
  const unique = Object.keys(sample).flatMap((name, place) => {
    if (name !== "id" && name !== "unique_id") return [];
    return [{ place, head: String(values[place]).slice(0, -digitsMin) }];
  });
  const time = Date.now().toString(36).padStart(9, "0");
  let count = 0;
  return () => {
    count += 1;
    const tail = time + String(count).padStart(digitsMin - time.length, "0");
    const row = [...values];
    for (const { place, head } of unique) row[place] = head + tail;
    return row;
  };
}

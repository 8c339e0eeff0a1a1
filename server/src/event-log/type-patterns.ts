/** The types among `known` that a pattern names: a type, `<kind>.*` or `*`, in any case. */
export function matchTypes<EventType extends string>(
  pattern: string,
  known: readonly EventType[],
): readonly EventType[] {
  const given = pattern.trim().toLowerCase();
  return known.filter((type) => given === "*" || given === type || given === `${kindOf(type)}.*`);
}

function kindOf(type: string): string {
  return type.split(".", 1)[0] ?? "";
}

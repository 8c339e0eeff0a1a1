/** A member of the compiled objects. */
export interface Member {
  readonly name: string;
  /** The key or index of its value in the source. */
  readonly from: string | number;
  /** Called with the value, unless it is undefined. */
  readonly convert?: ((value: unknown) => unknown) | undefined;
  readonly isRequired?: boolean;
}

/**
 * Compiles a function that copies members of a source into a new object. Generated code gives these objects one hidden
 * class, which makes converting rows to JSON a third faster (docs/contributing/decisions/0004-our-own-schemas.md).
 *
 * @returns a function that throws if the value of a required member is undefined
 */
export function compileObject(members: readonly Member[]): (source: unknown) => object {
  const checks: string[] = [];
  const copies = members.map(({ name, from, convert, isRequired }, index) => {
    const value = `source[${JSON.stringify(from)}]`;
    if (isRequired === true) {
      const message = JSON.stringify(`The object has no ${name}`);
      checks.push(`if (${value} === undefined) throw new Error(${message});`);
    }
    const copy = convert === undefined ? value : `${value} === undefined ? undefined : converts[${index}](${value})`;
    const key = JSON.stringify(name);
    return `${name === "__proto__" ? `[${key}]` : key}: ${copy}`; // only a computed key defines a member of this name
  });
  const code = `return (source) => { ${checks.join(" ")} return { ${copies.join(", ")} }; };`;
  return new Function("converts", code)(members.map(({ convert }) => convert));
}

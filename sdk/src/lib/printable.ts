/** The method by which `console.log` of Node.js, Deno and Bun prints an object, whose accessors it would not read. */
const print: unique symbol = Symbol.for("nodejs.util.inspect.custom") as typeof print;

/** Lets an object with accessors be printed with their values. */
export function printable<T extends object>(shown: T): T {
  return Object.defineProperty(shown, print, {
    value(this: object) {
      return { ...shown, ...this };
    },
  });
}

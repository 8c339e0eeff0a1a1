import type { AnyCall, Operation } from "./call.ts";

const callers: Readonly<Record<string, Operation["caller"]>> = { d: "device", o: "operator", a: "anyone" };

/**
 * Creates the function that describes calls of an operation: it takes the parameters of the path in their order, then
 * one object of all others.
 *
 * @param verb the method and the path, such as `GET /checkins/{checkinId}`
 * @param flags `d`, `o`, `a`: the caller is a device, an operator, anyone, instead of a user; `p`: a write without key; `r`: one
 * that may be repeated; `s`: not for batches; `f`: uploads a file; `b`: downloads bytes
 */
export function define<Args extends readonly unknown[], Described extends AnyCall>(
  id: string,
  verb: string,
  flags = "",
): (...args: Args) => Described {
  let operation: Operation | undefined;
  return (...args) => {
    operation ??= describe(id, verb, flags);
    let count = 0;
    const path = operation.route.replace(/\{\w+\}/g, () => segmentOf(args[count++]));
    const parameters = args[count];
    const call: AnyCall = {
      operation,
      path,
      ...(typeof parameters === "object" && { parameters: Object.freeze({ ...parameters }) }),
    };
    // The flags of the generated code say what its type says.
    return Object.freeze(call) as Described;
  };
}

function describe(id: string, verb: string, flags: string): Operation {
  const has = (flag: string) => flags.includes(flag);
  const [method = "", route = ""] = verb.split(" ");
  return Object.freeze({
    id,
    method: method as Operation["method"],
    route,
    caller: callers[flags.charAt(0)] ?? "user",
    isIdempotent: method !== "GET" && !has("p"),
    isBatchable: !has("s"),
    ...(has("r") && { isRepeatable: true }),
    ...(has("f") && { hasFile: true }),
    ...(has("b") && { isDownload: true }),
  });
}

/** A missing id becomes an empty segment; such a call is refused before it is sent. */
function segmentOf(value: unknown): string {
  return typeof (value ?? {}) === "object" ? "" : encodeURIComponent(`${value}`);
}

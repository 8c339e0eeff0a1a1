/**
 * Makes malloc return free memory to the operating system. glibc keeps free memory below any block in use, and after a
 * flood, most of its memory is such.
 *
 * Does nothing without glibc or without Node.js's `node:ffi`.
 */
export function trimMemory(): void {
  trim ??= findTrim();
  trim(0n);
}

type Trim = (leftBytes: bigint) => unknown;
let trim: Trim | undefined;

function findTrim(): Trim {
  const nothing = () => {};
  if (process.platform !== "linux") return nothing;
  const { emitWarning } = process;
  process.emitWarning = nothing; // hide the warning that the module is experimental
  try {
    const ffi = process.getBuiltinModule("node:ffi");
    const { functions } = ffi.dlopen("libc.so.6", { malloc_trim: { arguments: ["u64"], return: "i32" } });
    return functions.malloc_trim as Trim; // of the signature above
  } catch {
    return nothing;
  } finally {
    process.emitWarning = emitWarning;
  }
}

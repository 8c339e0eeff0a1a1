import { Socket } from "node:net";

/** The names of the symbols under which `net.Socket` keeps its option `onread`. */
type ReadOption = "kBuffer" | "kBufferCb";

interface Handle {
  useUserBuffer(buffer: Buffer): void;
}

/** As much as the operating system returns with one read. */
const shared = Buffer.alloc(65_536);
let symbols: Readonly<Record<ReadOption, symbol>> | undefined;

/**
 * Makes a connection read into a buffer that it shares with the others, as the option `onread` of `net.Socket` does,
 * which accepted connections cannot have: Node.js would allocate 64 KB for each read.
 *
 * @param onBytes receives bytes that are valid until it returns; it returns false to stop reading until `socket.resume`
 * @returns false if this release of Node.js keeps the option in another way
 */
export function shareReads(socket: Socket, onBytes: (bytes: Buffer) => boolean): boolean {
  symbols ??= findSymbols();
  const handle = handleOf(socket);
  if (symbols === undefined || handle === undefined) return false;
  Object.assign(socket, {
    [symbols.kBuffer]: shared,
    [symbols.kBufferCb]: (length: number) => onBytes(shared.subarray(0, length)),
  });
  handle.useUserBuffer(shared);
  socket.resume(); // otherwise it would not report its end
  return true;
}

/** Bytes for later: those of a shared read are copied, because the next read replaces them. */
export function keepBytes(bytes: Buffer): Buffer {
  return bytes.buffer === shared.buffer ? Buffer.from(bytes) : bytes;
}

function findSymbols(): typeof symbols {
  const buffer = Buffer.alloc(1);
  const sample = new Socket({ onread: { buffer, callback: () => true } });
  const found = new Map(Object.getOwnPropertySymbols(sample).map((symbol) => [symbol.description, symbol]));
  const [kBuffer, kBufferCb] = [found.get("kBuffer"), found.get("kBufferCb")];
  if (kBuffer === undefined || kBufferCb === undefined) return undefined;
  return Reflect.get(sample, kBuffer) === buffer ? { kBuffer, kBufferCb } : undefined;
}

function handleOf(socket: Socket): Handle | undefined {
  const handle: unknown = Reflect.get(socket, "_handle");
  return isHandle(handle) ? handle : undefined;
}

function isHandle(value: unknown): value is Handle {
  return typeof value === "object" && value !== null && "useUserBuffer" in value;
}

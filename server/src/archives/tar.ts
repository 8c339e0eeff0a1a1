/**
 * The container format: a POSIX tar file (ustar), which any tar program can list and extract. A header depends only on name
 * and size, so that a reader detects every flipped bit.
 */

/** Headers and contents are padded to a multiple of this. */
export const blockBytes = 512;
const nameBytesMax = 100;
const prefixBytesMax = 155;
/**
 * The maximum of eleven octal digits; a larger size is written in binary, as in GNU tar.
 */
const octalSizeMax = 0o77777777777;

/** The header of an entry. @throws RangeError if the name does not fit */
export function tarHeader(name: string, size: number): Buffer {
  const header = Buffer.alloc(blockBytes);
  const { prefix, rest } = splitName(name);
  header.write(rest, 0, "ascii");
  header.write("0000600\0", 100, "ascii"); // mode: for the owner only
  header.write("0000000\0", 108, "ascii");
  header.write("0000000\0", 116, "ascii");
  writeSize(size, header);
  header.write("00000000000\0", 136, "ascii"); // time
  header.write("        ", 148, "ascii"); // the checksum is computed with spaces
  header.write("0", 156, "ascii"); // a regular file
  header.write("ustar\x0000", 257, "latin1");
  header.write(prefix, 345, "ascii");
  const sum = header.reduce((total, byte) => total + byte, 0);
  header.write(`${sum.toString(8).padStart(6, "0")}\0 `, 148, "latin1");
  return header;
}

/** @returns undefined unless the header is byte-identical to the output of {@link tarHeader} */
export function parseTarHeader(header: Buffer): { readonly name: string; readonly size: number } | undefined {
  const prefix = readText(header.subarray(345, 500));
  const rest = readText(header.subarray(0, nameBytesMax));
  const name = prefix === "" ? rest : `${prefix}/${rest}`;
  const size = readSize(header);
  if (!namePattern.test(name) || !Number.isSafeInteger(size)) return undefined;
  try {
    return tarHeader(name, size).equals(header) ? { name, size } : undefined;
  } catch {
    return undefined;
  }
}

/** The zeros between the content of an entry and the next one. */
export function tarPadding(size: number): Buffer {
  return Buffer.alloc((blockBytes - (size % blockBytes)) % blockBytes);
}

/** The end of a tar file. */
export const tarEnd: Buffer = Buffer.alloc(2 * blockBytes);

const namePattern = /^[A-Za-z0-9_-][A-Za-z0-9_.-]*(\/[A-Za-z0-9_-][A-Za-z0-9_.-]*)*$/;

function splitName(name: string): { prefix: string; rest: string } {
  if (!namePattern.test(name)) throw new RangeError(`no name of an entry: ${name}`);
  if (name.length <= nameBytesMax) return { prefix: "", rest: name };
  const cut = name.indexOf("/", name.length - nameBytesMax - 1);
  if (cut === -1 || cut > prefixBytesMax) throw new RangeError(`too long a name of an entry: ${name}`);
  return { prefix: name.slice(0, cut), rest: name.slice(cut + 1) };
}

function writeSize(size: number, header: Buffer): void {
  if (size <= octalSizeMax) {
    header.write(`${size.toString(8).padStart(11, "0")}\0`, 124, "latin1");
    return;
  }
  header.writeUInt8(0x80, 124);
  header.writeBigUInt64BE(BigInt(size), 128);
}

function readSize(header: Buffer): number {
  if (header.readUInt8(124) === 0x80) return Number(header.readBigUInt64BE(128));
  const digits = header.toString("latin1", 124, 135);
  return /^[0-7]{11}$/.test(digits) ? Number.parseInt(digits, 8) : Number.NaN;
}

function readText(field: Buffer): string {
  const end = field.indexOf(0);
  return field.toString("latin1", 0, end === -1 ? field.length : end);
}

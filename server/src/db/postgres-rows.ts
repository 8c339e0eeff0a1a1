declare global {
  /** Missing in the types of Node.js: `toString` takes a third longer for short texts, because it looks up the encoding. */
  interface Buffer {
    latin1Slice(start: number, end: number): string;
    utf8Slice(start: number, end: number): string;
  }
}

/** A message with one row: its type, its length, the number of its values, then each value with its length. */
export interface RowMessage {
  readonly bytes: Buffer;
  /** Where the message begins. */
  readonly at: number;
}

/** A column as the driver describes it. */
export interface RowColumn {
  readonly type: number;
  /** Makes a value of its text; undefined if the text is the value. */
  readonly parser?: ((text: string) => unknown) | undefined;
}

const bigint = 20;
const double = 701;
const minus = 0x2d;
const zero = 0x30;
/** Longer texts are decoded without looking at each byte. */
const asciiBytesMax = 128;

/**
 * Reads rows in the text format of PostgreSQL, into the values that the driver makes of them.
 *
 * @throws Error if a row has other columns
 */
export function decodeRows(messages: readonly RowMessage[], columns: readonly RowColumn[]): unknown[][] {
  return messages.map(({ bytes, at }) => decodeRow(bytes, at, columns));
}

function decodeRow(bytes: Buffer, from: number, columns: readonly RowColumn[]): unknown[] {
  if (bytes.readUInt16BE(from + 5) !== columns.length) throw new Error("A row does not belong to its statement");
  const values: unknown[] = [];
  const first = from + 7;
  // Parts of one text cost less than a call of C++ for each value.
  const text = bytes.latin1Slice(first, from + 1 + bytes.readUInt32BE(from + 1));
  let at = first;
  for (const { type, parser } of columns) {
    const length = readLength(bytes, at);
    at += 4;
    if (length === -1) {
      values.push(null);
      continue;
    }
    const end = at + length;
    if (type === bigint) values.push(readInteger(bytes, at, end));
    else {
      const value = isShortAscii(bytes, at, end) ? text.slice(at - first, end - first) : bytes.utf8Slice(at, end);
      values.push(type === double ? Number(value) : parser === undefined ? value : parser(value));
    }
    at = end;
  }
  return values;
}

/** The four bytes before a value: its length, or -1 for null. */
function readLength(bytes: Buffer, at: number): number {
  return ((bytes[at] ?? 0) << 24) | ((bytes[at + 1] ?? 0) << 16) | ((bytes[at + 2] ?? 0) << 8) | (bytes[at + 3] ?? 0);
}

function isShortAscii(bytes: Buffer, from: number, end: number): boolean {
  if (end - from > asciiBytesMax) return false;
  let bits = 0;
  for (let at = from; at < end; at += 1) bits |= bytes[at] ?? 0;
  return bits < 0x80;
}

/** Digits, perhaps after a sign; all of our integers are exact as numbers. */
function readInteger(bytes: Buffer, from: number, end: number): number {
  const isNegative = bytes[from] === minus;
  let value = 0;
  for (let at = isNegative ? from + 1 : from; at < end; at += 1) value = value * 10 + ((bytes[at] ?? zero) - zero);
  return isNegative ? -value : value;
}

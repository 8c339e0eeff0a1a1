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
  let at = from + 7;
  for (const { type, parser } of columns) {
    const length = bytes.readInt32BE(at);
    at += 4;
    if (length === -1) {
      values.push(null);
      continue;
    }
    const end = at + length;
    if (type === bigint) values.push(readInteger(bytes, at, end));
    else if (type === double) values.push(Number(bytes.latin1Slice(at, end)));
    else if (parser === undefined) values.push(bytes.utf8Slice(at, end));
    else values.push(parser(bytes.utf8Slice(at, end)));
    at = end;
  }
  return values;
}

/** Digits, perhaps after a sign; all of our integers are exact as numbers. */
function readInteger(bytes: Buffer, from: number, end: number): number {
  const isNegative = bytes[from] === minus;
  let value = 0;
  for (let at = isNegative ? from + 1 : from; at < end; at += 1) value = value * 10 + ((bytes[at] ?? zero) - zero);
  return isNegative ? -value : value;
}

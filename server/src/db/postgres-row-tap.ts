import { decodeRows, type RowColumn, type RowMessage } from "./postgres-rows.ts";

/** A statement of the driver; it is active while the server answers it. */
export interface DriverQuery {
  readonly active: boolean;
}

/** A statement that was given to the driver. */
interface Sent {
  readonly query: DriverQuery;
  /** Its rows as they arrived; undefined if the driver reads them. */
  readonly messages: RowMessage[] | undefined;
}

/** The columns and the number of rows of a result, as the driver read them. */
interface DriverResult extends Array<unknown> {
  readonly columns: readonly RowColumn[];
  readonly count: number | null;
}

const dataRow = 0x44; // D
const readyForQuery = 0x5a; // Z
const headBytes = 5;

/**
 * Takes the rows of chosen statements out of the messages of the server before the driver sees them, because it needs
 * several times as long to read a row. The driver gets all other messages, so it keeps the order of statements and
 * answers; which statement a row belongs to is checked against it.
 */
export class RowTap {
  /** In the order of their answers. */
  readonly #sent: Sent[] = [];
  #isConnected = false;
  #rest: Buffer[] = [];
  #restBytes = 0;
  #neededBytes = headBytes;

  /** True once the messages of the server pass through. */
  get isConnected(): boolean {
    return this.#isConnected;
  }

  /**
   * Must be called for each statement, in the order in which the driver sends them.
   *
   * @returns takes the rows of a statement out of the result of the driver, for which they are missing
   */
  expect(query: DriverQuery, isTapped: boolean): { finish(result?: DriverResult): void } {
    const sent: Sent = { query, messages: isTapped ? [] : undefined };
    this.#sent.push(sent);
    return {
      finish: (result) => {
        this.#forget(sent);
        if (result === undefined || sent.messages === undefined) return;
        const rowCount = result.columns.length === 0 ? 0 : result.count; // it counts added rows that are not returned, too
        if (result.length > 0 || rowCount !== sent.messages.length) throw new Error("Rows of a statement are missing");
        for (const row of decodeRows(sent.messages, result.columns)) result.push(row);
      },
    };
  }

  /** A statement may fail before it is sent, and those of an encrypted connection do not end here. */
  #forget(sent: Sent): void {
    const at = this.#sent.indexOf(sent);
    if (at >= 0) this.#sent.splice(at, 1);
  }

  /** Wraps the driver's listener for what the server sends. */
  connect(deliver: (bytes: Buffer) => void): (bytes: Buffer) => void {
    this.#isConnected = true;
    return (bytes) => {
      const whole = this.#join(bytes);
      if (whole !== undefined) this.#split(whole, deliver);
    };
  }

  /** @returns undefined until the message that has begun is complete */
  #join(bytes: Buffer): Buffer | undefined {
    if (this.#restBytes === 0) return bytes;
    this.#rest.push(bytes);
    this.#restBytes += bytes.length;
    if (this.#restBytes < this.#neededBytes) return undefined;
    const whole = Buffer.concat(this.#rest, this.#restBytes);
    this.#rest = [];
    this.#restBytes = 0;
    return whole;
  }

  #split(bytes: Buffer, deliver: (bytes: Buffer) => void): void {
    let delivered = 0;
    let at = 0;
    function deliverUntil(end: number): void {
      if (end > delivered) deliver(bytes.subarray(delivered, end));
      delivered = end;
    }
    this.#neededBytes = headBytes;
    while (bytes.length - at >= headBytes) {
      const end = at + 1 + bytes.readUInt32BE(at + 1);
      if (end > bytes.length) {
        this.#neededBytes = end - at;
        break;
      }
      const type = bytes[at];
      if (type === dataRow) {
        if (this.#sent[0]?.messages !== undefined) {
          deliverUntil(at);
          const [current] = this.#sent;
          if (current?.query.active && current.messages !== undefined) {
            current.messages.push({ bytes, at });
            delivered = end;
          }
        }
      } else if (type === readyForQuery) {
        deliverUntil(at);
        const [current] = this.#sent;
        const isAnswered = current?.query.active === true; // else it is a statement of the driver itself
        deliverUntil(end);
        if (isAnswered) {
          this.#sent.shift();
          if (current.query.active) this.#sent.push(current); // the driver sends it again, as the last one
        }
      }
      at = end;
    }
    deliverUntil(at);
    if (at < bytes.length) {
      this.#rest = [bytes.subarray(at)];
      this.#restBytes = bytes.length - at;
    }
  }
}

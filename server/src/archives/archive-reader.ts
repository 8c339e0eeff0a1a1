import { createHash } from "node:crypto";
import { Checks, entriesPerCheck, isCheck } from "./checks.ts";
import { ArchiveError, endName } from "./format.ts";
import { blockBytes, parseTarHeader, tarEnd, tarPadding } from "./tar.ts";

/** One entry of an archive. Unread bytes are skipped. */
export interface ArchiveEntry {
  readonly name: string;
  readonly size: number;
  readonly bytes: AsyncIterable<Uint8Array>;
  /** The digest of the bytes read so far, in hex. */
  sha256(): string;
}

const cut = "The archive is truncated";
const damaged = "The archive is damaged";

/**
 * Iterates over the entries of an archive in one pass, and verifies every bit. During the iteration, only entries before
 * the last entry of digests are verified.
 *
 * @throws ArchiveError
 */
export async function* readArchive(source: AsyncIterable<Uint8Array>): AsyncGenerator<ArchiveEntry> {
  const input = new Input(source);
  const checks = new Checks();
  let last = "";
  try {
    for (;;) {
      const header = await input.take(blockBytes);
      if (header.equals(tarEnd.subarray(0, blockBytes))) break;
      const parsed = parseTarHeader(header);
      if (parsed === undefined) {
        throw new ArchiveError(last === "" ? "This is not a Rollcall archive" : `${damaged} after ${last}`);
      }
      const { name, size } = parsed;
      if (isCheck(name)) {
        const expected = checks.take();
        const isOfThem = name === expected.name && size === expected.content.length;
        const written = isOfThem ? await input.take(size) : undefined;
        if (written?.equals(expected.content) !== true)
          throw new ArchiveError(describeDifferences(expected.content, written));
      } else {
        // Bounds the memory for digests.
        if (checks.waiting > entriesPerCheck) throw new ArchiveError(`${damaged} after ${last}`);
        if (last === endName) throw new ArchiveError(`${damaged} after ${last}`);
        const digest = createHash("sha256");
        const rest = { size, onPiece: (piece: Uint8Array) => void digest.update(piece) };
        yield { name, size, bytes: input.pieces(rest), sha256: () => digest.copy().digest("hex") };
        for await (const _ of input.pieces(rest)); // skips unread bytes
        checks.add(name, digest.digest("hex"));
        last = name;
      }
      if (!(await input.take(tarPadding(size).length)).equals(tarPadding(size))) {
        throw new ArchiveError(`${damaged} after ${name}`);
      }
    }
    const isWhole = (await input.take(blockBytes)).equals(tarEnd.subarray(blockBytes)) && (await input.isAtEnd());
    if (!isWhole) throw new ArchiveError(`${damaged} after its end`);
    if (last !== endName || checks.waiting > 1) throw new ArchiveError(cut);
  } finally {
    await input.close();
  }
}

/** Names the changed entries, as far as they can be determined. */
function describeDifferences(read: Buffer, written: Buffer | undefined): string {
  const lines = new Set(written?.toString("latin1").split("\n"));
  const names = read
    .toString("latin1")
    .split("\n")
    .filter((line) => !lines.has(line))
    .map((line) => line.slice(line.lastIndexOf(" ") + 1));
  const canBeNamed = written !== undefined && names.length > 0 && names.length <= 10;
  return canBeNamed ? `${damaged}: ${names.join(", ")}` : `${damaged}: its digests do not match its entries`;
}

/** Rechunks bytes: they arrive and are consumed in pieces of different sizes. */
class Input {
  readonly #source: AsyncIterator<Uint8Array>;
  #pending: Uint8Array = new Uint8Array();

  constructor(source: AsyncIterable<Uint8Array>) {
    this.#source = source[Symbol.asyncIterator]();
  }

  async take(count: number): Promise<Buffer> {
    const pieces: Uint8Array[] = [];
    for await (const piece of this.pieces({ size: count, onPiece: () => {} })) pieces.push(piece);
    return pieces.length === 1 && pieces[0] !== undefined ? Buffer.from(pieces[0]) : Buffer.concat(pieces);
  }

  /** @param rest counts down, so that a reader that stops early leaves the rest to the next one */
  async *pieces(rest: { size: number; onPiece(piece: Uint8Array): void }): AsyncGenerator<Uint8Array> {
    while (rest.size > 0) {
      if (!(await this.#fill())) throw new ArchiveError(cut);
      const piece = this.#pending.subarray(0, rest.size);
      this.#pending = this.#pending.subarray(piece.length);
      rest.size -= piece.length;
      rest.onPiece(piece);
      yield piece;
    }
  }

  async isAtEnd(): Promise<boolean> {
    return !(await this.#fill());
  }

  async close(): Promise<void> {
    await this.#source.return?.();
  }

  /** @returns whether bytes are available */
  async #fill(): Promise<boolean> {
    while (this.#pending.length === 0) {
      const { done, value } = await this.#source.next();
      if (done === true) return false;
      this.#pending = value;
    }
    return true;
  }
}

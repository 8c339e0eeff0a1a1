import { ByteReader, ByteWriter } from "../../lib/bytes.ts";
import { Cell } from "./cell.ts";

const textsMax = 100;
const textCharactersMax = 256;

/**
 * Events grouped by the content of one value. The first distinct strings have a group each, and all later ones share a
 * group without a name, which no string can be confused with.
 */
export class Groups {
  // Groups stay encoded until they are read.
  readonly #groups = new Map<string, Cell | Uint8Array>();
  #rest: Cell | undefined;

  /** Returns the group of a content. Strings with the same first 256 characters share a group. */
  of(content: string | boolean): Cell {
    const text = groupName(content);
    return this.#find(text) ?? this.#add(text) ?? this.#others();
  }

  /** Yields the named groups. */
  *entries(): Generator<readonly [text: string, cell: Cell]> {
    for (const text of this.#groups.keys()) {
      const cell = this.#find(text);
      if (cell !== undefined) yield [text, cell];
    }
  }

  /** All events whose content has no named group. */
  get rest(): Cell | undefined {
    return this.#rest;
  }

  merge(other: Groups): void {
    for (const [text, cell] of other.entries()) (this.#find(text) ?? this.#add(text) ?? this.#others()).merge(cell);
    if (other.#rest !== undefined) this.#others().merge(other.#rest);
  }

  write(writer: ByteWriter): void {
    writer.integer(this.#groups.size);
    for (const [text, cell] of this.#groups) {
      writer.text(text);
      writer.bytes(cell instanceof Cell ? written(cell) : cell);
    }
    writer.integer(this.#rest === undefined ? 0 : 1);
    this.#rest?.write(writer);
  }

  static read(reader: ByteReader): Groups {
    const groups = new Groups();
    for (let left = reader.integer(textsMax); left > 0; left -= 1) groups.#groups.set(reader.text(), reader.bytes());
    if (reader.integer(1) === 1) groups.#rest = Cell.read("group", reader);
    return groups;
  }

  #find(text: string): Cell | undefined {
    const found = this.#groups.get(text);
    if (found === undefined || found instanceof Cell) return found;
    const cell = Cell.read("group", new ByteReader(found));
    this.#groups.set(text, cell);
    return cell;
  }

  #add(text: string): Cell | undefined {
    if (this.#groups.size >= textsMax) return undefined;
    const cell = new Cell("group");
    this.#groups.set(text, cell);
    return cell;
  }

  #others(): Cell {
    this.#rest ??= new Cell("group");
    return this.#rest;
  }
}

function written(cell: Cell): Uint8Array {
  const writer = new ByteWriter();
  cell.write(writer);
  return writer.finish();
}

function groupName(content: string | boolean): string {
  const text = String(content);
  return text.length <= textCharactersMax ? text : Array.from(text).slice(0, textCharactersMax).join("");
}

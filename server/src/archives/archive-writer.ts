import { createHash, hash } from "node:crypto";
import { Checks, entriesPerCheck } from "./checks.ts";
import { tarEnd, tarHeader, tarPadding } from "./tar.ts";

/** Writes the entries of an archive in sequence: each method yields the next bytes. */
export class ArchiveWriter {
  readonly #checks = new Checks();

  *entry(name: string, content: Uint8Array): Generator<Uint8Array> {
    yield* this.#write(name, content);
    this.#checks.add(name, hash("sha256", content, "hex"));
    if (this.#checks.waiting >= entriesPerCheck) yield* this.#check();
  }

  /**
   * @returns the SHA-256 of the bytes
   * @throws Error if their number is not `size`
   */
  async *stream(name: string, size: number, bytes: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array, string> {
    const digest = createHash("sha256");
    let left = size;
    yield tarHeader(name, size);
    for await (const chunk of bytes) {
      left -= chunk.length;
      if (left < 0) break;
      digest.update(chunk);
      yield chunk;
    }
    if (left !== 0) throw new Error(`${name} has changed while it was read`);
    yield tarPadding(size);
    const sha256 = digest.digest("hex");
    this.#checks.add(name, sha256);
    if (this.#checks.waiting >= entriesPerCheck) yield* this.#check();
    return sha256;
  }

  /** Yields the remaining digests and the end of the archive. */
  *end(): Generator<Uint8Array> {
    yield* this.#check();
    yield tarEnd;
  }

  *#check(): Generator<Uint8Array> {
    const { name, content } = this.#checks.take();
    yield* this.#write(name, content);
  }

  *#write(name: string, content: Uint8Array): Generator<Uint8Array> {
    yield tarHeader(name, content.length);
    if (content.length > 0) yield content;
    yield tarPadding(content.length);
  }
}

import { hash } from "node:crypto";

/** The maximum number of entries per entry of digests. */
export const entriesPerCheck = 512;

/**
 * The digests of written or read entries. The archive contains them as separate entries in the format of `sha256sum -c`.
 * Each entry of digests starts with the digest of the previous one, so that a changed, removed or moved entry is detected:
 * the reader computes the same content and compares.
 */
export class Checks {
  #lines: string[] = [];
  #count = 0;

  /** The number of digests since the last entry of digests. */
  get waiting(): number {
    return this.#lines.length;
  }

  add(name: string, sha256: string): void {
    this.#lines.push(`${sha256}  ${name}\n`);
  }

  /** Returns the next entry of digests. */
  take(): { readonly name: string; readonly content: Buffer } {
    this.#count += 1;
    const name = `checks/${this.#count.toString().padStart(8, "0")}.sha256`;
    const content = Buffer.from(this.#lines.join(""));
    this.#lines = [`${hash("sha256", content, "hex")}  ${name}\n`];
    return { name, content };
  }
}

/** True for an entry of digests. */
export function isCheck(name: string): boolean {
  return name.startsWith("checks/");
}

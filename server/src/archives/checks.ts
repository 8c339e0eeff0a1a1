import { hash } from "node:crypto";

/** So many entries at most have their digests in one entry of digests. */
export const entriesPerCheck = 512;

/**
 * The digests of what has been written or read: what goes into an archive now and then as an entry of its own, in the form
 * that `sha256sum -c` reads. Each of these begins with the digest of the one before, so that nothing between the first
 * entry and the last can be changed, lost or put elsewhere. Who reads makes the same text, and compares.
 */
export class Checks {
  #lines: string[] = [];
  #count = 0;

  /** How many entries wait to be in the next one. */
  get waiting(): number {
    return this.#lines.length;
  }

  add(name: string, sha256: string): void {
    this.#lines.push(`${sha256}  ${name}\n`);
  }

  /** The next entry of digests. */
  take(): { readonly name: string; readonly content: Buffer } {
    this.#count += 1;
    const name = `checks/${this.#count.toString().padStart(8, "0")}.sha256`;
    const content = Buffer.from(this.#lines.join(""));
    this.#lines = [`${hash("sha256", content, "hex")}  ${name}\n`];
    return { name, content };
  }
}

/** Whether it holds digests. */
export function isCheck(name: string): boolean {
  return name.startsWith("checks/");
}

import { randomBytes } from "node:crypto";
import { bytesHeaders, metadataOf, tusHeaders } from "../../server/test/tus.ts";
import type { Person } from "../../testkit/people.ts";
import { type Api, Unanswered } from "../api.ts";
import { type Fact, type Ledger, verify } from "../ledger.ts";
import type { Tally } from "../tally.ts";
import type { Writer } from "../writer.ts";
import { digestOf, readFile } from "./files.ts";

const length = 90_000;
const segment = 30_000;

/** Uploads files in segments across kills, and resumes at the offset that the server reports. */
export const writeUploads: Writer = ({ ledger, newName }, person) => {
  let current: Upload | undefined;
  return async (api) => {
    current ??= await Upload.begin(api, ledger, newName(), person);
    await current.goOn(api);
    if (current.isWhole) current = undefined;
  };
};

class Upload implements Fact {
  readonly #bytes = randomBytes(length);
  readonly #ledger: Ledger;
  readonly #name: string;
  readonly #person: Person;
  readonly #path: string;
  /** The last state that was answered, and the one that was sent. */
  #taken = 0;
  #sent = 0;

  static async begin(api: Api, ledger: Ledger, name: string, person: Person): Promise<Upload> {
    const { headers } = await api.call("POST /files/uploads", {
      token: person.token,
      headers: {
        ...tusHeaders,
        "upload-length": `${length}`,
        "upload-metadata": metadataOf({ kind: "blob", friendlyName: name }),
      },
    });
    return new Upload(ledger, name, person, new URL(`${headers["location"]}`).pathname);
  }

  constructor(ledger: Ledger, name: string, person: Person, path: string) {
    this.#ledger = ledger;
    this.#name = name;
    this.#person = person;
    this.#path = path;
    ledger.add(this);
    ledger.touch(this);
  }

  get isWhole(): boolean {
    return this.#taken === length;
  }

  async goOn(api: Api): Promise<void> {
    this.#taken = await this.#readOffset(api);
    while (!this.isWhole) {
      this.#sent = Math.min(length, this.#taken + segment);
      this.#ledger.touch(this);
      const { headers } = await api.call(`PATCH ${this.#path}`, {
        token: this.#person.token,
        headers: { ...bytesHeaders, "upload-offset": `${this.#taken}` },
        body: this.#bytes.subarray(this.#taken, this.#sent),
        expected: [409], // another process still holds the lease
      });
      const offset = headers["upload-offset"];
      this.#taken = offset === undefined ? await this.#readOffset(api) : Number(offset);
    }
  }

  async check(api: Api, tally: Tally): Promise<"later" | undefined> {
    const what = `upload ${this.#name}`;
    tally.checks += 1;
    let offset: number;
    try {
      offset = await this.#readOffset(api);
    } catch (error) {
      if (error instanceof Unanswered) return "later"; // until the lease of the killed process expires
      tally.wrong.push(`${what}: ${error instanceof Error ? error.message : error}`);
      return undefined;
    }
    if (offset < this.#taken) tally.lost.push(`${what}: ${offset} bytes, ${this.#taken} were answered`);
    if (offset > this.#sent) tally.halfWritten.push(`${what}: ${offset} bytes, ${this.#sent} were sent`);
    if (offset < length) return undefined;
    const digest = await verify(what, () => readFile(api, this.#name, this.#person.token), tally);
    if (digest !== undefined && digest !== digestOf(this.#bytes)) tally.lost.push(`${what}: the file is ${digest}`);
    return undefined;
  }

  async #readOffset(api: Api): Promise<number> {
    const { headers } = await api.call(`HEAD ${this.#path}`, { token: this.#person.token, headers: tusHeaders });
    return Number(headers["upload-offset"]);
  }
}

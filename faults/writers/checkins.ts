import { isDeepStrictEqual } from "node:util";
import type { Person } from "../../testkit/people.ts";
import type { Answer, Api } from "../api.ts";
import { type Fact, HalfWritten, type Ledger, Register, verify } from "../ledger.ts";
import type { Tally } from "../tally.ts";
import { filler, type Writer } from "../writer.ts";

/** Creates a check-in, changes it, and deletes every other one. */
export const writeCheckins: Writer = ({ ledger, newName }, { token }) => {
  let count = 0;
  return async (api) => {
    const tag = newName();
    const register = new Register(ledger, `check-in ${tag}`, "absent", (api) => readComment(api, token, tag));
    const body = { location: "48.2,16.3", comment: `first ${tag} ${filler}`, tag };
    const created = await register.write(body.comment, () => api.call("POST /checkins", { token, body }));
    const path = `/checkins/${created.body.result.id}`;
    const comment = `second ${tag} ${filler}`;
    await register.write(comment, () => api.call(`PATCH ${path}`, { token, body: { comment } }));
    count += 1;
    if (count % 2 === 0) await register.write("absent", () => api.call(`DELETE ${path}`, { token }));
  };
};

/** Creates check-ins with idempotency keys: a repeated request leads to the same check-in and the same response. */
export const writeCheckinsOnce: Writer = ({ ledger, newName }, person) => {
  return async (api) => {
    const checkin = new OnlyCheckin(ledger, newName(), person);
    await checkin.write(api);
  };
};

class OnlyCheckin implements Fact {
  readonly #ledger: Ledger;
  readonly #tag: string;
  readonly #person: Person;
  #reply: unknown;

  constructor(ledger: Ledger, tag: string, person: Person) {
    this.#ledger = ledger;
    this.#tag = tag;
    this.#person = person;
    ledger.add(this);
  }

  async write(api: Api): Promise<void> {
    this.#ledger.touch(this);
    this.#reply = (await this.#send(api)).body.result;
  }

  async check(api: Api, tally: Tally): Promise<undefined> {
    const what = `check-in ${this.#tag} with an idempotency key`;
    const repeated = await verify(what, () => this.#send(api), tally);
    if (repeated === undefined) return;
    const { body, headers } = repeated;
    if (this.#reply !== undefined) {
      if (headers["idempotent-replayed"] !== "true") tally.lost.push(`${what}: the key is lost`);
      else if (!isDeepStrictEqual(body.result, this.#reply)) tally.lost.push(`${what}: got another response`);
    }
    this.#reply = body.result;
    const comment = await verify(what, () => readComment(api, this.#person.token, this.#tag), tally);
    if (comment !== undefined && comment !== filler) tally.lost.push(`${what}: is ${comment}`);
  }

  #send(api: Api): Promise<Answer> {
    const body = { location: "48.2,16.3", comment: filler, tag: this.#tag };
    return api.call("POST /checkins", {
      token: this.#person.token,
      body,
      headers: { "idempotency-key": this.#tag },
    });
  }
}

/** The comment of the only check-in with a tag, or "absent". */
export async function readComment(api: Api, token: string, tag: string): Promise<string> {
  const { body } = await api.call(`GET /checkins?userID=me&tag=${tag}`, { token });
  const found: { comment: string }[] = body.result.pageResults;
  if (found.length > 1) throw new HalfWritten(`is there ${found.length} times`);
  return found[0]?.comment ?? "absent";
}

import { createCheckin } from "../../sdk/src/generated/calls.ts";
import { memoryStore } from "../../sdk/src/identity/memory-store.ts";
import type { Session } from "../../sdk/src/identity/session.ts";
import { connect } from "../../sdk/src/nouns/connect.ts";
import { createRollcall, type Rollcall } from "../../sdk/src/rollcall.ts";
import { type Outcome, RollcallError } from "../../sdk/src/wire/errors.ts";
import type { Deployment } from "../../testkit/deployment.ts";
import type { Tally } from "../tally.ts";

/** A client with a user of its own that creates check-ins and records the outcome of each call. */
export class Writer {
  readonly #client: Rollcall;
  readonly #session: Session;
  readonly #tally: Tally;
  /** By the tag of the check-in. */
  readonly #ended = new Map<string, "answered" | Outcome>();
  #replayed = 0;

  private constructor(client: Rollcall, session: Session, tally: Tally) {
    this.#client = client;
    this.#session = session;
    this.#tally = tally;
  }

  static async signUp(
    { application }: Deployment,
    url: string,
    userName: string,
    tally: Tally,
    network: typeof fetch,
  ): Promise<Writer> {
    const logger = { debug() {}, info() {}, warn() {}, error() {} };
    const client = createRollcall({ ...application, url, store: memoryStore(), logger, fetch: network });
    const session = await client.signUp({ userName, password: "correct horse" });
    client.on("sessionEnded", () => tally.wrong.push(`the session of ${userName} has ended`));
    client.on("sessionChanged", () => tally.wrong.push(`the session of ${userName} has changed`));
    return new Writer(client, session, tally);
  }

  /** Creates a check-in. Returns whether the call was answered. */
  async write(): Promise<boolean> {
    const tag = `${this.#session.userName} ${this.#ended.size}`;
    this.#tally.sent += 1;
    this.#ended.set(tag, "unknown");
    try {
      const sent = this.#client.send(createCheckin({ location: { lat: 48.2, lng: 16.4 }, tag }));
      await sent;
      if ((await sent.meta).replayed) this.#replayed += 1;
    } catch (error) {
      if (!(error instanceof RollcallError) || !error.isRetryable) {
        this.#tally.wrong.push(`the call of ${tag} ended by ${error}`);
      } else this.#ended.set(tag, error.outcome);
      return false;
    }
    this.#tally.answered += 1;
    this.#ended.set(tag, "answered");
    return true;
  }

  /** Compares the stored rows with the outcomes of the calls. */
  async check(url: string): Promise<void> {
    const { token } = this.#session.handoff();
    const stored = new Map<string, number>();
    for await (const { tag = "" } of connect({ url, token }).checkins.search({ pageSize: 1000 })) {
      stored.set(tag, (stored.get(tag) ?? 0) + 1);
    }
    for (const [tag, ended] of this.#ended) {
      const count = stored.get(tag) ?? 0;
      this.#tally.checks += 1;
      stored.delete(tag);
      if (count > 1) this.#tally.wrong.push(`${tag} is stored ${count} times`);
      if (count === 0 && ended === "answered") this.#tally.lost.push(`${tag} was answered and is not stored`);
      if (count > 0 && ended === "none") this.#tally.wrong.push(`${tag} is stored, and the error says that it is not`);
    }
    for (const tag of stored.keys()) this.#tally.wrong.push(`${tag} is stored, and was never written`);
  }

  /** The number of calls that ended with an error. */
  get rejected(): number {
    return [...this.#ended.values()].filter((ended) => ended !== "answered").length;
  }

  /** The number of calls that an attempt applied whose answer was lost, and that a repeat was answered. */
  get replayed(): number {
    return this.#replayed;
  }

  close(): Promise<void> {
    return this.#client.close();
  }
}

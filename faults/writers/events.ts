import { setTimeout as sleep } from "node:timers/promises";
import type { Api } from "../api.ts";
import { type Fact, verify } from "../ledger.ts";
import type { Tally } from "../tally.ts";
import { filler, type Writer } from "../writer.ts";

/** A write whose answer was lost may still be committed between two reads. */
const readsMax = 5;
const pauseMs = 200;

/** Creates check-ins, and follows the events of its user: each committed write has one event, and each event its write. */
export const writeWithEvents: Writer = ({ ledger }, { token }) => {
  const follower = new Follower(token);
  ledger.add(follower);
  return async (api) => {
    await follower.begin(api);
    ledger.touch(follower);
    await api.call("POST /checkins", { token, body: { location: "48.2,16.3", comment: filler } });
  };
};

class Follower implements Fact {
  readonly #token: string;
  /** The objects of the events so far, by the ids of the events. */
  readonly #objects = new Map<string, string>();
  #cursor: string | undefined;

  constructor(token: string) {
    this.#token = token;
  }

  /** Takes the cursor of now, before the first write. */
  async begin(api: Api): Promise<void> {
    if (this.#cursor !== undefined) return;
    this.#cursor = (await api.call("GET /events", { token: this.#token })).body.result.currentToken;
  }

  async check(api: Api, tally: Tally): Promise<undefined> {
    if (this.#cursor === undefined) return;
    for (let reads = 1; ; reads += 1) {
      const problem = await verify("events", () => this.#compare(api), tally);
      if (problem === undefined || problem === "") return;
      if (reads === readsMax) {
        tally.lost.push(`events: ${problem}`);
        return;
      }
      await sleep(pauseMs);
    }
  }

  /** @returns what is wrong, or the empty text */
  async #compare(api: Api): Promise<string> {
    const checkins = await this.#readCheckins(api);
    if (!(await this.#follow(api))) return "the log does not reach back to the cursor";
    const objects = [...this.#objects.values()];
    if (new Set(objects).size < objects.length) return "an object was created twice";
    const missing = checkins.filter((id) => !objects.includes(id));
    const surplus = objects.filter((id) => !checkins.includes(id));
    if (missing.length === 0 && surplus.length === 0) return "";
    return `${missing.length} writes without an event, ${surplus.length} events without a write`;
  }

  /** Reads the events behind the cursor. @returns false after a reset */
  async #follow(api: Api): Promise<boolean> {
    for (;;) {
      const path = `/events?types=checkin.created&pageSize=1000&userID=me&after=${this.#cursor}`;
      const { result } = (await api.call(`GET ${path}`, { token: this.#token })).body;
      if (result.isReset === true) return false;
      for (const { id, objectID } of result.pageResults) this.#objects.set(id, objectID);
      this.#cursor = result.currentToken;
      if (result.nextToken === undefined) return true;
    }
  }

  async #readCheckins(api: Api): Promise<string[]> {
    const ids: string[] = [];
    let path = "/checkins?userID=me&pageSize=1000";
    for (;;) {
      const { result } = (await api.call(`GET ${path}`, { token: this.#token })).body;
      ids.push(...result.pageResults.map(({ id }: { id: string }) => id));
      if (result.nextToken === undefined) return ids;
      path = `/checkins?pagingToken=${encodeURIComponent(result.nextToken)}`;
    }
  }
}

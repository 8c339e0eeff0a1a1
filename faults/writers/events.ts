import { setTimeout as sleep } from "node:timers/promises";
import type { Api } from "../api.ts";
import { type Fact, verify } from "../ledger.ts";
import type { Tally } from "../tally.ts";
import { filler, type Work, type Writer } from "../writer.ts";

/** A write whose answer was lost may still be committed between two reads. */
const readsMax = 5;
const pauseMs = 200;
const changesMax = 2;

/**
 * Creates check-ins, changes them and deletes every third one, and compares the events of its user: each committed write
 * has one event, and each event its write.
 */
export const writeWithEvents: Writer = (work, { token }) => {
  const follower = new Follower(work, token);
  work.ledger.add(follower);
  let count = 0;
  return async (api) => {
    await follower.begin(api);
    work.ledger.touch(follower);
    const body = { location: "48.2,16.3", comment: filler, description: "0" };
    const created = await api.call("POST /checkins", { token, body });
    const path = `/checkins/${created.body.result.id}`;
    for (let changes = 1; changes <= changesMax; changes += 1) {
      await api.call(`PATCH ${path}`, { token, body: { description: `${changes}` } });
    }
    count += 1;
    if (count % 3 === 0) await api.call(`DELETE ${path}`, { token });
  };
};

interface LoggedEvent {
  readonly id: string;
  readonly type: string;
  readonly objectID: string;
}

class Follower implements Fact {
  readonly #token: string;
  readonly #work: Work;
  /** The objects whose creation was reported to the user, by the ids of the events. */
  readonly #created = new Map<string, string>();
  #userId = "";
  #cursor: string | undefined;

  constructor(work: Work, token: string) {
    this.#work = work;
    this.#token = token;
  }

  /** Takes the current cursor before the first write. */
  async begin(api: Api): Promise<void> {
    if (this.#cursor !== undefined) return;
    this.#userId = (await api.call("GET /users/me", { token: this.#token })).body.result.id;
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

  /** @returns the problem, or the empty text */
  async #compare(api: Api): Promise<string> {
    const checkins = await this.#readCheckins(api);
    if (!(await this.#follow(api))) return "the log does not reach back to the cursor";
    const reported = [...this.#created.values()];
    if (new Set(reported).size < reported.length) return "an object was created twice";
    const missing = [...checkins.keys()].filter((id) => !reported.includes(id));
    if (missing.length > 0) return `${missing.length} check-ins without an event for their user`;
    const problems = findProblems(await this.#readLog(api), checkins);
    return problems.length === 0 ? "" : `${problems.length} check-ins have wrong events, first ${problems[0]}`;
  }

  /**
   * Reads the events after the cursor.
   * @returns false after a reset
   */
  async #follow(api: Api): Promise<boolean> {
    for (;;) {
      const path = `/events?types=checkin.created&pageSize=1000&userID=me&after=${this.#cursor}`;
      const { result } = (await api.call(`GET ${path}`, { token: this.#token })).body;
      if (result.isReset === true) return false;
      for (const { id, objectID } of result.pageResults) this.#created.set(id, objectID);
      this.#cursor = result.currentToken;
      if (result.nextToken === undefined) return true;
    }
  }

  /** Every event of the user's check-ins, oldest first, also of those that are deleted. */
  async #readLog(api: Api): Promise<LoggedEvent[]> {
    const { application, operatorToken: token } = this.#work;
    const root = `/_/api/applications/${application.appid}/events`;
    const events: LoggedEvent[] = [];
    let query = `userID=${this.#userId}&type=checkin.*&pageSize=1000`;
    for (;;) {
      const { result } = (await api.call(`GET ${root}?${query}`, { token })).body;
      events.push(...result.pageResults);
      if (result.nextToken === undefined) return events.reverse();
      query = `pagingToken=${encodeURIComponent(result.nextToken)}`;
    }
  }

  /** The user's check-ins, and the number of changes of each. */
  async #readCheckins(api: Api): Promise<Map<string, number>> {
    const changes = new Map<string, number>();
    let path = "/checkins?userID=me&pageSize=1000";
    for (;;) {
      const { result } = (await api.call(`GET ${path}`, { token: this.#token })).body;
      for (const { id, description } of result.pageResults) changes.set(id, Number(description));
      if (result.nextToken === undefined) return changes;
      path = `/checkins?pagingToken=${encodeURIComponent(result.nextToken)}`;
    }
  }
}

/**
 * Compares the events of each check-in with the stored state: its creation, its changes and its deletion, in this
 * order.
 */
function findProblems(events: readonly LoggedEvent[], checkins: ReadonlyMap<string, number>): string[] {
  const ids = new Set(events.map(({ id }) => id));
  if (ids.size < events.length) return ["an id that two events have"];
  const byObject = Map.groupBy(events, ({ objectID }) => objectID);
  const objects = new Set([...byObject.keys(), ...checkins.keys()]);
  return [...objects].flatMap((object) => {
    const reported = (byObject.get(object) ?? []).map(({ type }) => type.split(".")[1]).join(" ");
    const changes = checkins.get(object);
    const expected =
      changes === undefined ? /^created( changed){2} deleted$/ : new RegExp(`^created( changed){${changes}}$`);
    return expected.test(reported) ? [] : [`${object}: ${reported}`];
  });
}

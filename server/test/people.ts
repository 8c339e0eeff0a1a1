import assert from "node:assert/strict";
import { distanceMeters, type Location } from "../src/lib/locations.ts";
import { estimators } from "./attacker.ts";
import { keepAlive, type TestApp, type TestUser } from "./harness.ts";
import { until } from "./until.ts";

/** Memory for the pages of a thousand rows that many calls read concurrently; a slow machine could refuse some. */
export const memoryForPages = { IN_FLIGHT_BYTES_MAX: "1073741824" };

/** A check-in and its true location. */
export interface CheckIn {
  readonly id: string;
  readonly truth: Location;
}

export function text({ lat, lng }: Location): string {
  return `${lat},${lng}`;
}

/** Users with locationFuzzing, their check-ins, and the locations that other users see. */
export function createPeople(test: TestApp) {
  async function setFuzzing(user: TestUser, locationFuzzing: boolean): Promise<void> {
    const { status } = await test.call("PATCH /users/me", {
      token: user.token,
      body: { locationFuzzing },
      agent: keepAlive,
    });
    assert.equal(status, 200);
  }

  async function checkIn(user: TestUser, truth: Location, more = {}): Promise<CheckIn> {
    const body = { location: text(truth), readPermissions: "App", ...more };
    const { status, body: answer } = await test.call("POST /checkins", { token: user.token, body, agent: keepAlive });
    assert.equal(status, 201);
    assert.deepEqual(answer.result.location, truth, "the owner sees the true location");
    return { id: answer.result.id, truth };
  }

  async function search(path: string, query: Record<string, string>, { token }: TestUser) {
    const call = () => test.call(`GET /${path}?${new URLSearchParams(query)}`, { token, agent: keepAlive });
    let answer = await call();
    // On a busy machine, so many large pages may wait too long for their memory (spec/limits#bytes-in-flight).
    await until(async () => {
      if (answer.status === 503) answer = await call();
      return answer.status !== 503;
    });
    assert.equal(answer.status, 200);
    return answer.body.result;
  }

  async function readLocation(id: string, { token }: TestUser): Promise<Location> {
    return (await test.call(`GET /checkins/${id}`, { token, agent: keepAlive })).body.result.location;
  }

  return {
    setFuzzing,
    checkIn,
    search,
    readLocation,

    async signUpFuzzed(): Promise<TestUser> {
      const user = await test.signUp();
      await setFuzzing(user, true);
      return user;
    },

    async checkInAll(user: TestUser, truths: readonly Location[]): Promise<CheckIn[]> {
      const made: CheckIn[] = [];
      for (const truth of truths) made.push(await checkIn(user, truth));
      return made;
    },

    /** Changes the location of a check-in. */
    async move(id: string, to: Location, by: TestUser): Promise<void> {
      const { status } = await test.call(`PATCH /checkins/${id}`, {
        token: by.token,
        body: { location: text(to) },
        agent: keepAlive,
      });
      assert.equal(status, 200);
    },

    /**
     * Returns the locations of a user's check-ins as a reader sees them, by id, and asserts that every listing, search
     * and read shows the same.
     */
    async gatherShown(user: TestUser, reader: TestUser): Promise<Map<string, Location>> {
      const query = { userID: user.id, pageSize: "1000" };
      const listed: { id: string; location: Location }[] = (await search("checkins", query, reader)).pageResults;
      const shown = new Map(listed.map(({ id, location }) => [id, location]));
      const everywhere = { ...query, locationRange: "1,2,20100000", sortOrder: "-distance" };
      for (const again of [{ ...query, sortOrder: "tag" }, everywhere]) {
        const { pageResults } = await search("checkins", again, reader);
        assert.equal(pageResults.length, shown.size);
        for (const { id, location } of pageResults) assert.deepEqual(location, shown.get(id));
      }
      for (const id of [...shown.keys()].slice(0, 3)) assert.deepEqual(await readLocation(id, reader), shown.get(id));
      return shown;
    },
  };
}

export function assertFarOff(shown: Location, truth: Location): void {
  const meters = distanceMeters(shown, truth);
  assert.ok(meters >= 500 && meters <= 1_500, `shown ${meters} m off ${text(truth)}`);
}

/** Asserts that every fuzzed location has the guaranteed distance. @returns the fuzzed locations */
export function assertShifted(checkIns: readonly CheckIn[], shown: ReadonlyMap<string, Location>): Location[] {
  return checkIns.map(({ id, truth }) => {
    const location = shown.get(id);
    assert.ok(location);
    assertFarOff(location, truth);
    return location;
  });
}

/** Asserts that no estimate from these points comes close to the place. */
export function assertHidden(shown: readonly Location[], place: Location): void {
  for (const [name, estimate] of Object.entries(estimators)) {
    const meters = distanceMeters(estimate(shown), place);
    assert.ok(meters >= 400, `${name}: ${Math.round(meters)} m off ${text(place)}`);
  }
}

/** Asserts that all fuzzed locations have the same shift: without a true location, no shift can be distinguished. */
export function assertMovedAsOne(truths: readonly Location[], shown: readonly Location[], tolerance: number): void {
  for (const [n, from] of truths.entries()) {
    const [to, shownFrom, shownTo] = [truths[n + 1], shown[n], shown[n + 1]];
    if (to === undefined || shownFrom === undefined || shownTo === undefined) continue;
    const stretched = Math.abs(distanceMeters(shownFrom, shownTo) - distanceMeters(from, to));
    assert.ok(stretched <= tolerance, `stretched by ${stretched} m`);
  }
}

/** Runs this many calls concurrently. */
export function each<T>(count: number, run: (n: number) => Promise<T>): Promise<T[]> {
  return Promise.all(Array.from({ length: count }, (_, n) => run(n)));
}

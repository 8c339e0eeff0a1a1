import type { Answer } from "./client.ts";
import { expectResult, expectThat } from "./expect.ts";
import { shared, signUp, type World } from "./world.ts";

/** The number of check-ins of `rows`. */
export const rowsMade = 25;

/** Creates a check-in and returns its id. */
export async function checkIn(world: World, token: string, fields: object = {}): Promise<string> {
  return (await makeCheckin(world, token, fields)).id;
}

/** Creates a check-in and returns it. */
export async function makeCheckin(world: World, token: string, fields: object = {}): Promise<Answer["body"]> {
  const body = { location: "1,2", ...fields };
  return expectResult(await world.call("POST /checkins", { token, body }), 201);
}

/** Creates check-ins one after the other and returns their ids. */
export async function checkInAll(world: World, token: string, all: readonly object[]): Promise<string[]> {
  const ids: string[] = [];
  for (const fields of all) ids.push(await checkIn(world, token, fields));
  return ids;
}

/** Creates a user with this many check-ins. */
export async function makeRows(world: World, count: number) {
  const { token, id: userId } = await signUp(world);
  const ids = await checkInAll(world, token, new Array(count).fill({}));
  return { token, userId, ids };
}

/** A user with 25 check-ins; no check adds to them. */
export const rows = shared((world) => makeRows(world, rowsMade));

/** A page of the user's own check-ins, without those that others share. */
export async function page(world: World, token: string, query: Readonly<Record<string, string>> = {}) {
  return world.call("GET /checkins", { token, query: { userID: "me", ...query } });
}

/** A page of all check-ins that the user may read. */
export async function search(world: World, token: string, query: Readonly<Record<string, string>>) {
  return world.call("GET /checkins", { token, query });
}

/** Permissions that let every user of the application read and change. */
export const forAll = { readPermissions: "App", writePermissions: "App" };

/** The ids of a page, in its order. */
export function idsOf(answer: Answer): string[] {
  return expectResult(answer).pageResults.map((checkin: { id: string }) => checkin.id);
}

/** The pages from this one on, in one direction. */
export async function walk(
  world: World,
  token: string,
  first: Answer,
  direction: "nextToken" | "previousToken",
  between: (last: Answer) => Promise<unknown> = async () => {},
): Promise<Answer[]> {
  const pages = [first];
  for (let last = first; expectResult(last)[direction] !== undefined; ) {
    await between(last);
    last = await page(world, token, { pagingToken: expectResult(last)[direction] });
    pages.push(last);
    expectThat(last, pages.length <= 200, "paging to end");
  }
  return pages;
}

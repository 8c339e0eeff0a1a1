import { shared } from "./check.ts";
import type { Answer } from "./client.ts";
import { expectResult, expectThat } from "./expect.ts";
import { signUp, type World } from "./world.ts";

/** How many check-ins `rows` has. */
export const rowsMade = 25;

/** Makes a check-in and returns its id. */
export async function checkIn(world: World, token: string): Promise<string> {
  const answer = await world.call("POST /checkins", { token, body: { location: "1,2" } });
  return expectResult(answer, 201).id;
}

/** A new user with so many check-ins. */
export async function makeRows(world: World, count: number) {
  const { token, id: userId } = await signUp(world);
  const ids: string[] = [];
  for (let made = 0; made < count; made += 1) ids.push(await checkIn(world, token));
  return { token, userId, ids };
}

/** A user with 25 check-ins that no check adds to. */
export const rows = shared((world) => makeRows(world, rowsMade));

/** A page of the user's own check-ins: where others share theirs, a listing has those too. */
export async function page(world: World, token: string, query: Readonly<Record<string, string>> = {}) {
  return world.call("GET /checkins", { token, query: { userID: "me", ...query } });
}

/** The ids of a page, in its order. */
export function idsOf(answer: Answer): string[] {
  return expectResult(answer).pageResults.map((checkin: { id: string }) => checkin.id);
}

/** The pages from one on, by its own tokens in one direction. */
export async function walk(
  world: World,
  token: string,
  first: Answer,
  direction: "nextToken" | "previousToken",
  between: () => Promise<unknown> = async () => {},
): Promise<Answer[]> {
  const pages = [first];
  for (let last = first; expectResult(last)[direction] !== undefined; ) {
    await between();
    last = await page(world, token, { pagingToken: expectResult(last)[direction] });
    pages.push(last);
    expectThat(last, pages.length <= 200, "an end of the pages");
  }
  return pages;
}

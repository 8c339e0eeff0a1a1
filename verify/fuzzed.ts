import type { Answer } from "./client.ts";
import { expectResult } from "./expect.ts";
import { format, type Point } from "./globe.ts";
import { checkInAll } from "./listing.ts";
import { changeUser, shared, signUp, type TestUser, type World } from "./world.ts";

export const vienna: Point = { lat: 48.2082, lng: 16.3738 };
export const places: readonly Point[] = [
  vienna,
  { lat: -33.8688, lng: 151.2093 },
  { lat: 0, lng: 179.9999 },
  { lat: 12, lng: -179.9999 },
  { lat: 89.99, lng: 60 },
  { lat: -89.99, lng: -60 },
  { lat: 0, lng: 0 },
];
/** Creates a user with locationFuzzing. */
export async function signUpFuzzed(world: World): Promise<TestUser> {
  const user = await signUp(world);
  await changeUser(world, user, { locationFuzzing: true });
  return user;
}

/** Creates a user with locationFuzzing who has shared a check-in at each place. */
export const fuzzedUser = shared(async (world) => {
  const user = await signUpFuzzed(world);
  const all = places.map((place) => ({ location: format(place), readPermissions: "App" }));
  return { user, ids: await checkInAll(world, user.token, all) };
});

/** The location of a check-in as a reader sees it. */
export async function seen(
  world: World,
  token: string,
  checkinId: string,
): Promise<{ answer: Answer; location: Point }> {
  const answer = await world.call(`GET /checkins/${checkinId}`, { token });
  return { answer, location: expectResult(answer).location };
}

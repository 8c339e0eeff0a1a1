import type { Queries } from "../db/database.ts";
import type { Fuzzing } from "./fuzzing.ts";

interface SharedRow {
  readonly application_id: string;
  readonly user_id: string;
  readonly setter_id: string | null;
  readonly lat: number | null;
  readonly lng: number | null;
  readonly read_permission: number | null;
}

/**
 * Must be called when an object has been changed: sharing it may reveal its true location (see `Fuzzing.noteShown`).
 */
export async function noteSharing(
  before: SharedRow,
  now: SharedRow,
  fuzzing: Fuzzing,
  queries: Queries,
): Promise<void> {
  const { application_id: applicationId, user_id: userId, setter_id, lat, lng } = now;
  const isShared = now.read_permission === 1 && before.read_permission !== 1;
  const isSameLocation = lat === before.lat && lng === before.lng;
  if (!isShared || !isSameLocation || lat === null || lng === null) return;
  const placing = { applicationId, userId, setterId: setter_id ?? userId, location: { lat, lng } };
  await fuzzing.noteShown(placing, undefined, queries);
}

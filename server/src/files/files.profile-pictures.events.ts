import type { Queries } from "../db/database.ts";
import type { EventRecorder } from "../event-log/recorder.ts";

/** The user whose profile picture has changed. */
interface PictureOwner {
  readonly id: string;
  readonly celeb_mode: number;
}

/** Records that a profile shows another picture, or none. */
export async function recordPictureChange(
  applicationId: string,
  owner: PictureOwner | undefined,
  events: EventRecorder,
  queries: Queries,
): Promise<void> {
  if (owner === undefined) return; // no profile picture
  const isShown = owner.celeb_mode === 0;
  const changed = ["profilePictureID", "profilePictureUrl"];
  const about = { type: "user.changed", objectId: owner.id, userId: owner.id } as const;
  await events.record(applicationId, { ...about, changed, wasShown: isShown, isShown }, queries);
}

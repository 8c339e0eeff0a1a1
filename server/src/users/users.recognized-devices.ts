import type { Queries } from "../db/database.ts";
import type { RecognizedDeviceRow } from "../db/tables.ts";

/** How many of a user's devices are remembered, by their last sign-in. */
const devicesMax = 8;
/** How often the row of a device in use is refreshed, so that a login usually costs no additional write. */
const refreshedAfterMs = 86_400_000;

/** Whether a sign-in from this device must be recorded. @param recognizedAt null for an unrecognized device */
export function isRecognitionDue(recognizedAt: number | null, now: number): boolean {
  return recognizedAt === null || now - recognizedAt > refreshedAfterMs;
}

/** Records a sign-in from a device, and forgets the least recently used devices beyond the limit. */
export async function recognizeDevice(row: RecognizedDeviceRow, queries: Queries): Promise<void> {
  const { application_id, user_id } = row;
  await queries
    .insertInto("recognized_devices")
    .values(row)
    .onConflict((conflict) =>
      conflict.columns(["application_id", "user_id", "device_id"]).doUpdateSet({ recognized_at: row.recognized_at }),
    )
    .execute();
  const surplus = await queries
    .selectFrom("recognized_devices")
    .select("device_id")
    .where("application_id", "=", application_id)
    .where("user_id", "=", user_id)
    .orderBy("recognized_at", "desc")
    .orderBy("device_id")
    .limit(devicesMax)
    .offset(devicesMax)
    .execute();
  if (surplus.length === 0) return;
  await queries
    .deleteFrom("recognized_devices")
    .where("application_id", "=", application_id)
    .where("user_id", "=", user_id)
    .where(
      "device_id",
      "in",
      surplus.map(({ device_id }) => device_id),
    )
    .execute();
}

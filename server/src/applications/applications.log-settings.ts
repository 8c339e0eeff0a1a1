import { lockApplication } from "../db/lock.ts";
import { hasLogSettings, updateLogSettings } from "../event-log/log-settings.ts";
import type { Services } from "../operations/services.ts";
import { type ApplicationSettings, loadApplicationSettings } from "../tenancy/application-settings.ts";

/**
 * Copies the event log settings of an application to its log, if the log lacks them after a restore or an import.
 */
export async function keepLogSettings(
  appid: string,
  found: ApplicationSettings,
  { database, clock }: Pick<Services, "database" | "clock">,
): Promise<void> {
  if (await hasLogSettings(appid, found.events, database.reads)) return;
  await database.write(async ({ queries }) => {
    await lockApplication(database.dialect, appid, queries);
    const { events } = await loadApplicationSettings(appid, queries); // read again under the lock
    await updateLogSettings(appid, events, clock.now(), database, queries);
  });
}

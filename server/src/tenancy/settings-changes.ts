import type { Queries } from "../db/database.ts";
import type { Dialect } from "../db/dialect.ts";
import { lockApplication } from "../db/lock.ts";
import {
  type ApplicationSettings,
  ApplicationSettingsError,
  loadApplicationSettings,
  updateApplicationSettings,
} from "./application-settings.ts";
import { withKeptPassword, withoutPassword } from "./mail-settings.ts";

/** Every request of an application may have to read them. */
const settingsCharactersMax = 65_536;

/**
 * Stores what is made of the settings as they are; two changes at once both count.
 *
 * @returns what is stored by now, or undefined when there is no such application
 * @throws ApplicationSettingsError when they are too long
 */
export async function changeApplicationSettings(
  applicationId: string,
  change: (current: ApplicationSettings) => ApplicationSettings,
  dialect: Dialect,
  queries: Queries,
): Promise<ApplicationSettings | undefined> {
  await lockApplication(dialect, applicationId, queries);
  const current = await loadApplicationSettings(applicationId, queries);
  const { mail, ...others } = change(current);
  const settings = { ...others, ...(mail && { mail: withKeptPassword(mail, current.mail) }) };
  if (JSON.stringify(settings).length > settingsCharactersMax) {
    throw new ApplicationSettingsError([`the settings must have at most ${settingsCharactersMax} characters as JSON`]);
  }
  return (await updateApplicationSettings(applicationId, settings, queries)) ? settings : undefined;
}

/** Settings as they may be shown: nothing secret is in them. */
export function shownSettings({ mail, ...others }: ApplicationSettings): ApplicationSettings {
  return { ...others, ...(mail && { mail: withoutPassword(mail) }) };
}

import type { Database, Queries } from "../db/database.ts";
import type { Dialect } from "../db/dialect.ts";
import { lockApplication } from "../db/lock.ts";
import {
  type ApplicationSettings,
  ApplicationSettingsError,
  type GuardedSettings,
  loadGuardedSettings,
  updateApplicationSettings,
} from "./application-settings.ts";
import { withKeptPassword, withoutPassword } from "./mail-settings.ts";
import { publicOnlyAfter } from "./public-only.ts";
import type { SettingsSealer } from "./sealed-settings.ts";

/** Limits the size, because every request of an application may have to read them. */
const settingsCharactersMax = 65_536;

/**
 * Stores the result of a change of the current settings; concurrent changes both take effect.
 *
 * @param mayReachInternal whether URLs that the change sets may lead to any address, instead of public ones only
 * @returns the stored settings, or undefined when there is no such application
 * @throws ApplicationSettingsError when they are too long
 */
export async function changeApplicationSettings(
  applicationId: string,
  change: (current: ApplicationSettings) => ApplicationSettings,
  { mayReachInternal }: { readonly mayReachInternal: boolean },
  { dialect, sealer }: { readonly dialect: Dialect; readonly sealer: SettingsSealer },
  queries: Queries,
): Promise<ApplicationSettings | undefined> {
  await lockApplication(dialect, applicationId, queries);
  const stored = await loadGuardedSettings(applicationId, queries);
  const { settings: current } = sealer.open(applicationId, stored);
  const settings = changedSettings(current, change);
  if (JSON.stringify(settings).length > settingsCharactersMax) {
    throw new ApplicationSettingsError([`the settings must have at most ${settingsCharactersMax} characters as JSON`]);
  }
  const publicOnly = publicOnlyAfter({ before: current, after: settings }, stored.publicOnly, mayReachInternal);
  const { settings: withoutSecrets, sealed } = sealer.seal(applicationId, settings, stored.sealed);
  const isUpdated = await updateApplicationSettings(applicationId, withoutSecrets, queries, { publicOnly, sealed });
  return isUpdated ? settings : undefined;
}

/** Seals secrets that an earlier version has stored in clear, and reseals those under an older secret. */
export async function sealOutdatedSettings(
  applicationId: string,
  found: GuardedSettings,
  { database, sealer }: { readonly database: Database; readonly sealer: SettingsSealer },
): Promise<void> {
  if (!sealer.open(applicationId, found).isOutdated) return;
  await database.write(async ({ queries }) => {
    await lockApplication(database.dialect, applicationId, queries);
    const stored = await loadGuardedSettings(applicationId, queries); // they may have been changed meanwhile
    const { settings, isOutdated } = sealer.open(applicationId, stored);
    if (!isOutdated) return;
    const { settings: withoutSecrets, sealed } = sealer.seal(applicationId, settings, null);
    const { publicOnly } = stored;
    await updateApplicationSettings(applicationId, withoutSecrets, queries, { publicOnly, sealed });
  });
}

/** The settings after a change; a mail server whose shown URL comes back keeps its password. */
export function changedSettings(
  current: ApplicationSettings,
  change: (current: ApplicationSettings) => ApplicationSettings,
): ApplicationSettings {
  const { mail, ...others } = change(current);
  return { ...others, ...(mail && { mail: withKeptPassword(mail, current.mail) }) };
}

/** The settings as they may be shown, without secrets. */
export function shownSettings({ mail, ...others }: ApplicationSettings): ApplicationSettings {
  return { ...others, ...(mail && { mail: withoutPassword(mail) }) };
}

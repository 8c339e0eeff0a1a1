import { createHash } from "node:crypto";
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
import { type SettingsAuthor, updateSettingsChanges } from "./settings-authors.ts";

/** Limits the size, because every request of an application may have to read them. */
const settingsCharactersMax = 65_536;

/** Stored settings, and the entity tag of this version. */
export interface StoredVersion {
  readonly settings: ApplicationSettings;
  readonly tag: string;
}

/** The settings were changed by another call. */
export class SettingsChangedError extends Error {
  readonly stored: StoredVersion;

  constructor(stored: StoredVersion) {
    super("The settings have changed");
    this.name = "SettingsChangedError";
    this.stored = stored;
  }
}

export function openVersion(applicationId: string, stored: GuardedSettings, sealer: SettingsSealer): StoredVersion {
  // Over the sealed secrets: a digest of plain-text secrets would let readers of the tag guess them.
  const text = JSON.stringify([stored.settings, stored.sealed]);
  const tag = createHash("sha256").update(text).digest("base64url").slice(0, 22);
  return { settings: sealer.open(applicationId, stored).settings, tag };
}

interface SettingsChange {
  readonly author: SettingsAuthor & { readonly at: number };
  /** Whether URLs that the change sets may lead to any address, instead of public ones only. */
  readonly mayReachInternal: boolean;
  /** Whether the stored version may be changed. */
  isExpected(tag: string): boolean;
}

/**
 * Stores the result of a change of the current settings; concurrent changes both take effect.
 *
 * @returns the stored settings and the previous ones, or undefined when the application does not exist
 * @throws ApplicationSettingsError when they are too long; SettingsChangedError
 */
export async function changeApplicationSettings(
  applicationId: string,
  change: (current: ApplicationSettings) => ApplicationSettings,
  { mayReachInternal, isExpected, author }: SettingsChange,
  { dialect, sealer }: { readonly dialect: Dialect; readonly sealer: SettingsSealer },
  queries: Queries,
): Promise<(StoredVersion & { readonly before: ApplicationSettings }) | undefined> {
  await lockApplication(dialect, applicationId, queries);
  const stored = await loadGuardedSettings(applicationId, queries);
  const version = openVersion(applicationId, stored, sealer);
  if (!isExpected(version.tag)) throw new SettingsChangedError(version);
  const { settings: current } = version;
  const settings = changedSettings(current, change);
  if (JSON.stringify(settings).length > settingsCharactersMax) {
    throw new ApplicationSettingsError([`the settings must have at most ${settingsCharactersMax} characters as JSON`]);
  }
  const publicOnly = publicOnlyAfter({ before: current, after: settings }, stored.publicOnly, mayReachInternal);
  const { settings: withoutSecrets, sealed } = sealer.seal(applicationId, settings, stored.sealed);
  const isUpdated = await updateApplicationSettings(applicationId, withoutSecrets, queries, { publicOnly, sealed });
  await updateSettingsChanges(applicationId, { before: current, after: settings }, author, queries);
  if (!isUpdated) return undefined;
  return { ...openVersion(applicationId, await loadGuardedSettings(applicationId, queries), sealer), before: current };
}

/** Seals secrets that an earlier version has stored in plain text, and reseals those under an older secret. */
export async function sealOutdatedSettings(
  applicationId: string,
  found: GuardedSettings,
  { database, sealer }: { readonly database: Database; readonly sealer: SettingsSealer },
): Promise<void> {
  if (!sealer.open(applicationId, found).isOutdated) return;
  await database.write(async ({ queries }) => {
    await lockApplication(database.dialect, applicationId, queries);
    const stored = await loadGuardedSettings(applicationId, queries); // another process may have changed them
    const { settings, isOutdated } = sealer.open(applicationId, stored);
    if (!isOutdated) return;
    const { settings: withoutSecrets, sealed } = sealer.seal(applicationId, settings, null);
    const { publicOnly } = stored;
    await updateApplicationSettings(applicationId, withoutSecrets, queries, { publicOnly, sealed });
  });
}

/** Returns the settings after a change; a mail server whose shown URL is sent back retains its password. */
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

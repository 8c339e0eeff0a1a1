import type { Queries } from "../db/database.ts";
import { createSealer } from "../lib/seal.ts";
import type { Secrets } from "../lib/secret-ring.ts";
import { type ApplicationSettings, loadGuardedSettings, type SealedSettings } from "./application-settings.ts";
import { type GuardedMailSettings, sealedSmtpUrl } from "./mail-settings.ts";
import { smtpUrlSetting } from "./public-only.ts";

/** Settings with their secrets. */
export interface OpenedSettings {
  readonly settings: ApplicationSettings;
  /**
   * True when a secret cannot be decrypted with the secrets of this deployment, and {@link sealedSmtpUrl} replaces it.
   */
  readonly isLocked: boolean;
  /** True when a secret is stored in plain text, or sealed under an older secret. */
  readonly isOutdated: boolean;
}

/** Seals the secrets in settings, each bound to its application and to the name of the setting. */
export interface SettingsSealer {
  /** @param stored the stored sealed values, to which {@link sealedSmtpUrl} in the settings refers */
  seal(applicationId: string, settings: ApplicationSettings, stored: string | null): SealedSettings;
  open(applicationId: string, stored: SealedSettings): OpenedSettings;
}

/** @param secrets newest first */
export function createSettingsSealer(secrets: Secrets): SettingsSealer {
  const sealer = createSealer(secrets, "application settings");
  const contextOf = (applicationId: string) => `${applicationId} ${smtpUrlSetting}`;

  return {
    seal(applicationId, settings, stored) {
      const smtpUrl = settings.mail?.smtpUrl;
      if (smtpUrl === undefined) return { settings, sealed: null };
      if (smtpUrl === sealedSmtpUrl) return { settings, sealed: stored };
      const sealed = { [smtpUrlSetting]: sealer.seal(smtpUrl, contextOf(applicationId)) };
      return { settings: withSmtpUrl(settings, sealedSmtpUrl), sealed: JSON.stringify(sealed) };
    },

    open(applicationId, { settings, sealed }) {
      const smtpUrl = settings.mail?.smtpUrl;
      // A process of the previous version stores the URL in plain text, next to the older sealed value.
      if (smtpUrl !== sealedSmtpUrl) return { settings, isLocked: false, isOutdated: smtpUrl !== undefined };
      const text = parseSealed(sealed);
      const opened = text === undefined ? undefined : sealer.open(text, contextOf(applicationId));
      if (text === undefined || opened === undefined) return { settings, isLocked: true, isOutdated: false };
      return { settings: withSmtpUrl(settings, opened), isLocked: false, isOutdated: !sealer.isNewest(text) };
    },
  };
}

/** The settings with another mail server. */
export function withSmtpUrl(settings: ApplicationSettings, smtpUrl: string): ApplicationSettings {
  return { ...settings, mail: { ...settings.mail, smtpUrl } };
}

/** Parses the sealed mail server; undefined when invalid, because a restored backup can contain any string. */
function parseSealed(sealed: string | null): string | undefined {
  if (sealed === null) return undefined;
  try {
    const text: unknown = Object(JSON.parse(sealed))[smtpUrlSetting];
    return typeof text === "string" ? text : undefined;
  } catch {
    return undefined;
  }
}

/** The settings for sending mails of the application. */
export async function loadMailSettings(
  applicationId: string,
  sealer: SettingsSealer,
  queries: Queries,
): Promise<GuardedMailSettings> {
  const stored = await loadGuardedSettings(applicationId, queries);
  const { settings, isLocked } = sealer.open(applicationId, stored);
  return { ...settings.mail, isLocked, isPublicOnly: stored.publicOnly.has(smtpUrlSetting) };
}

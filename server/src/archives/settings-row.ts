import type { StoredRow } from "../db/snapshot.ts";
import type { Secrets } from "../lib/secret-ring.ts";
import {
  type ApplicationSettings,
  ApplicationSettingsError,
  parseApplicationSettings,
} from "../tenancy/application-settings.ts";
import { sealedSmtpUrl } from "../tenancy/mail-settings.ts";
import { parsePublicOnly } from "../tenancy/public-only.ts";
import { createSettingsSealer, withSmtpUrl } from "../tenancy/sealed-settings.ts";
import { ArchiveError } from "./format.ts";

/**
 * Splits a row of `applications` into the row without the secrets of its settings, and those secrets in plain text.
 *
 * @param secrets newest first
 */
export function openSettingsRow(
  row: StoredRow,
  secrets: Secrets,
): { readonly row: StoredRow; readonly smtpUrl: string | undefined } {
  const { application_id: applicationId, sealed_settings: sealed } = row;
  const { settings, isLocked } = createSettingsSealer(secrets).open(String(applicationId), {
    settings: parseApplicationSettings(String(row["settings"])),
    sealed: typeof sealed === "string" ? sealed : null,
  });
  const smtpUrl = isLocked ? undefined : settings.mail?.smtpUrl;
  const withoutSecrets = { ...row, sealed_settings: null };
  if (smtpUrl === undefined) return { row: withoutSecrets, smtpUrl };
  return { row: { ...withoutSecrets, settings: JSON.stringify(withSmtpUrl(settings, sealedSmtpUrl)) }, smtpUrl };
}

/**
 * Returns the row with the secrets of its settings sealed for this deployment.
 *
 * @param smtpUrl from a separate entry of the archive
 * @throws ArchiveError if the settings are invalid, because later readers do not validate them
 */
export function sealSettingsRow(row: StoredRow, smtpUrl: string | undefined, secrets: Secrets): StoredRow {
  const read = requireSettings(row);
  const isSealed = read.mail?.smtpUrl === sealedSmtpUrl && smtpUrl !== undefined;
  const given = isSealed ? withSmtpUrl(read, smtpUrl) : read;
  const { settings, sealed } = createSettingsSealer(secrets).seal(String(row["application_id"]), given, null);
  return { ...row, ...(sealed !== null && { settings: JSON.stringify(settings) }), sealed_settings: sealed };
}

/** @throws ArchiveError */
function requireSettings({ settings, public_only: publicOnly }: StoredRow): ApplicationSettings {
  if (parsePublicOnly(typeof publicOnly === "string" ? publicOnly : null) === undefined) {
    throw new ArchiveError("The settings of the application are invalid");
  }
  try {
    return parseApplicationSettings(String(settings));
  } catch (cause) {
    if (!(cause instanceof ApplicationSettingsError)) throw cause;
    throw new ArchiveError("The settings of the application are invalid", { cause });
  }
}

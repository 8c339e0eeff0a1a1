import { applicationPathParameters } from "../auth/operated-application.ts";
import type { RawParameters } from "../contract/call.ts";
import { named, type Static, Type } from "../contract/schema.ts";
import { RawJson, Text } from "../contract/wire.ts";
import { signingSecretCharacters } from "../lib/secrets.ts";
import { type ApplicationSettings, readApplicationSettings } from "../tenancy/application-settings.ts";
import { settingsMembers } from "./applications.settings.members.ts";

export const SettingsPath = Type.Object(applicationPathParameters);

/** The settings in a body: with PATCH, absent members stay and null unsets a member. */
export const SettingsBody = named(
  "ApplicationSettings",
  "The settings of an application.",
  Type.Object(settingsMembers),
);
/** The same members without secrets, as JSON. */
export const Settings = RawJson(SettingsBody);

export const PutSigningSecret = Type.Object({
  secret: Type.Optional(
    Text({
      minLength: signingSecretCharacters.min,
      maxLength: signingSecretCharacters.max,
      description: "Made by the server when it is absent.",
    }),
  ),
});
export const SigningSecret = named(
  "SigningSecret",
  "A shared secret for signed requests.",
  Type.Object({ secret: Type.String({ description: "Shown only once." }) }),
);

/** The settings in a body. @throws ApplicationSettingsError naming every problem, including unknown members */
export function readSettings(parameters: Static<typeof SettingsBody>, raw: RawParameters): ApplicationSettings {
  return readApplicationSettings({ ...unknownMembers(raw), ...parameters });
}

/** The settings after a change. @throws ApplicationSettingsError */
export function readChangedSettings(
  current: ApplicationSettings,
  parameters: Static<typeof SettingsBody>,
  raw: RawParameters,
): ApplicationSettings {
  const kept = Object.entries(current).filter(([name]) => !isUnset(name, raw));
  return readApplicationSettings({ ...unknownMembers(raw), ...Object.fromEntries(kept), ...parameters });
}

/** Other operations ignore unknown members; here a misspelled setting must be reported. */
function unknownMembers(raw: RawParameters): Record<string, unknown> {
  const names = new Set(Object.keys(settingsMembers).map((name) => name.toLowerCase()));
  return Object.fromEntries([...raw].filter(([name]) => !names.has(name.toLowerCase())));
}

function isUnset(name: string, raw: RawParameters): boolean {
  return [...raw].some(([sent, value]) => value === null && sent.toLowerCase() === name.toLowerCase());
}

import { applicationPathParameters } from "../auth/operated-application.ts";
import type { RawParameters } from "../contract/call.ts";
import { type Static, Type } from "../contract/schema.ts";
import { Choice, Flag, List, Members, RawJson, Text } from "../contract/wire.ts";
import { signingSecretCharacters } from "../lib/secrets.ts";
import {
  type ApplicationSettings,
  locationDataWords,
  readApplicationSettings,
} from "../tenancy/application-settings.ts";
import { mailMembers } from "../tenancy/mail-settings.ts";

export const SettingsPath = Type.Object(applicationPathParameters);

const members = {
  oidc: Type.Optional(Members({ description: "Providers by identityProviderName: {issuer, audience, jwksUrl}." })),
  retention: Type.Optional(Members({ description: "Days: {metricsDays, crashReportsDays}, 90 without it." })),
  quotas: Type.Optional(
    Members({
      description: "Of files: {bytesPerApplication, filesPerApplication, bytesPerUser, filesPerUser}; none without it.",
    }),
  ),
  tokenLifetimes: Type.Optional(Members({ description: "Milliseconds: {deviceMs, userMs}." })),
  disabledOperations: Type.Optional(List({ description: "Disabled operations, such as `POST /users`." })),
  origins: Type.Optional(List({ description: "Of the web pages that may call; any without it." })),
  signedRequests: Type.Optional(
    Choice(["optional", "required"], { description: "Of an application with a shared secret; optional without it." }),
  ),
  limits: Type.Optional(
    Members({ description: "{application, caller, operations: {<operation>: …}}, each {perSecond, burst}." }),
  ),
  mail: Type.Optional(
    Members({
      description: `{${mailMembers.join(", ")}}; the first two in place of MAIL_FROM and SMTP_URL, without the password.`,
    }),
  ),
  locationData: Type.Optional(
    Choice(locationDataWords, {
      description: "What others get of videos and blobs of users with locationFuzzing; strip without it.",
    }),
  ),
  debug: Type.Optional(Flag({ description: "Social logins tell which check they failed; false without it." })),
  email: Type.Optional(
    Members({ description: "{requirePassword}: true refuses another address of a user without currentPassword." }),
  ),
} satisfies Record<keyof ApplicationSettings, unknown>;

/** All settings: absent members are unset. */
export const PutSettings = Type.Object(members);
/** Some settings, each as a whole: absent members stay, null unsets a member. */
export const ChangeSettings = Type.Object(members);
/** The same members without secrets, as JSON. */
export const Settings = RawJson({ ...Type.Object(members) });

export const PutSigningSecret = Type.Object({
  secret: Type.Optional(
    Text({
      minLength: signingSecretCharacters.min,
      maxLength: signingSecretCharacters.max,
      description: "Made by the server when it is absent.",
    }),
  ),
});
export const SigningSecret = Type.Object({ secret: Type.String({ description: "Shown only once." }) });

/** The settings in a body. @throws ApplicationSettingsError naming every problem, including unknown members */
export function readSettings(parameters: Static<typeof PutSettings>, raw: RawParameters): ApplicationSettings {
  return readApplicationSettings({ ...unknownMembers(raw), ...parameters });
}

/** The settings after a change. @throws ApplicationSettingsError */
export function readChangedSettings(
  current: ApplicationSettings,
  parameters: Static<typeof ChangeSettings>,
  raw: RawParameters,
): ApplicationSettings {
  const kept = Object.entries(current).filter(([name]) => !isUnset(name, raw));
  return readApplicationSettings({ ...unknownMembers(raw), ...Object.fromEntries(kept), ...parameters });
}

/** Other operations ignore unknown members; here a misspelled setting must be reported. */
function unknownMembers(raw: RawParameters): Record<string, unknown> {
  const names = new Set(Object.keys(members).map((name) => name.toLowerCase()));
  return Object.fromEntries([...raw].filter(([name]) => !names.has(name.toLowerCase())));
}

function isUnset(name: string, raw: RawParameters): boolean {
  return [...raw].some(([sent, value]) => value === null && sent.toLowerCase() === name.toLowerCase());
}

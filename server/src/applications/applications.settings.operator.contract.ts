import { applicationPathParameters } from "../auth/operated-application.ts";
import type { RawParameters } from "../http/call.ts";
import { type Static, Type } from "../http/schema.ts";
import { Choice, List, Members, RawJson, Text } from "../http/wire.ts";
import { signingSecretCharacters } from "../lib/secrets.ts";
import { type ApplicationSettings, readApplicationSettings } from "../tenancy/application-settings.ts";
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
  disabledOperations: Type.Optional(List({ description: "Operations that are switched off, as POST /users." })),
  origins: Type.Optional(List({ description: "Of the web pages that may call; any without it." })),
  signedRequests: Type.Optional(
    Choice(["optional", "required"], { description: "Of an application with a shared secret; optional without it." }),
  ),
  limits: Type.Optional(
    Members({ description: "{application, caller, operations: {<operation>: …}}, each {perSecond, burst}." }),
  ),
  mail: Type.Optional(
    Members({ description: `{${mailMembers.join(", ")}}, in place of MAIL_FROM and SMTP_URL; without the password.` }),
  ),
} satisfies Record<keyof ApplicationSettings, unknown>;

/** All of them: what the body does not say is unset. */
export const PutSettings = Type.Object(members);
/** Each of them as a whole: what the body does not say stays, what is null is unset. */
export const ChangeSettings = Type.Object(members);
/** The same members, as JSON of what may be shown. */
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
export const SigningSecret = Type.Object({ secret: Type.String({ description: "Told this once." }) });

/** The settings that a body holds. @throws ApplicationSettingsError naming what is wrong, unknown members too */
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

/** Elsewhere they are ignored; who misspells a setting must hear of it. */
function unknownMembers(raw: RawParameters): Record<string, unknown> {
  const names = new Set(Object.keys(members).map((name) => name.toLowerCase()));
  return Object.fromEntries([...raw].filter(([name]) => !names.has(name.toLowerCase())));
}

function isUnset(name: string, raw: RawParameters): boolean {
  return [...raw].some(([sent, value]) => value === null && sent.toLowerCase() === name.toLowerCase());
}

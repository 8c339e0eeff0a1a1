import type {
  MailTestResult,
  ProviderTestResult,
  EffectiveSettings as WireEffectiveSettings,
} from "../../../server/src/applications/applications.settings.effective.contract.ts";
import type { SettingsBody } from "../../../server/src/applications/applications.settings.operator.contract.ts";
import type { Static } from "../../../server/src/contract/schema.ts";
import type { FileUsage as WireFileUsage } from "../../../server/src/files/files.operator.routes.ts";
import { CallError } from "../lib/call-error.ts";
import { operation, type Versioned, versionedOperation } from "./call.ts";

export type Settings = Static<typeof SettingsBody>;
/** The members to replace; null unsets a member. */
export type ChangedSettings = { readonly [Member in keyof Settings]?: Settings[Member] | null };

interface OfApplication {
  readonly appid: string;
}

export type FileUsage = Static<typeof WireFileUsage>;

/** How much the application stores, with its quotas. */
export const readFileUsage = operation<OfApplication, FileUsage>("GET", "/applications/{appid}/file-usage", ["appid"]);

const path = "/applications/{appid}/settings";

export const getSettings = versionedOperation<OfApplication, Settings>("GET", path, ["appid"]);

const members = [
  "oidc",
  "retention",
  "quotas",
  "tokenLifetimes",
  "disabledOperations",
  "origins",
  "signedRequests",
  "limits",
  "mail",
  "locationData",
  "debug",
  "email",
  "events",
  "rehearsal",
  "webhooks",
  "events",
] as const satisfies readonly (keyof Settings)[];

export const changeSettings = versionedOperation<OfApplication & ChangedSettings, Settings>("PATCH", path, [
  "appid",
  ...members,
]);

/** Absent members are unset. */
export const replaceSettings = versionedOperation<OfApplication & Settings, Settings>("PUT", path, [
  "appid",
  ...members,
]);

/** The effective settings, the defaults, and the author of each member's last change. */
export interface EffectiveSettings {
  readonly values: Settings;
  readonly defaults: Settings;
  readonly changed: Static<typeof WireEffectiveSettings>["changed"];
  readonly hasSigningSecret: boolean;
}

export const getEffectiveSettings = operation<OfApplication, EffectiveSettings>("GET", `${path}/effective`, ["appid"]);

export type MailTest = Static<typeof MailTestResult>;

export const testMail = operation<OfApplication & { to: string }, MailTest>("POST", `${path}/mail/test`, [
  "appid",
  "to",
]);

export type ProviderTest = Static<typeof ProviderTestResult>;

export const testProvider = operation<OfApplication & { provider: string }, ProviderTest>(
  "POST",
  `${path}/oidc/{provider}/test`,
  ["appid", "provider"],
);

/** The stored settings, if the change was refused because another operator has changed them since. */
export function changedMeanwhile(error: unknown): Versioned<Settings> | undefined {
  if (!(error instanceof CallError) || error.condition !== "ObjectChanged") return undefined;
  const { current, version } = error.details;
  return isSettings(current) && typeof version === "string" ? { value: current, version } : undefined;
}

function isSettings(value: unknown): value is Settings {
  return typeof value === "object" && value !== null;
}

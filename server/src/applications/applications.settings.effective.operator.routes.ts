import { requireApplication } from "../auth/operated-application.ts";
import { defaultLogSettings } from "../event-log/log-settings.ts";
import { formatDate } from "../lib/dates.ts";
import { fieldsOf } from "../lib/fields.ts";
import { operation } from "../operations/operation.ts";
import { readRateLimits } from "../operations/rate-limit-settings.ts";
import type { Services } from "../operations/services.ts";
import {
  type ApplicationSettings,
  loadGuardedSettings,
  passwordLength,
  retentionOf,
  sessionMsDefault,
} from "../tenancy/application-settings.ts";
import { hasSigningSecret } from "../tenancy/policies.ts";
import { loadSettingsChanges, type SettingsChanges } from "../tenancy/settings-authors.ts";
import { openVersion, shownSettings } from "../tenancy/settings-changes.ts";
import { EffectiveSettings } from "./applications.settings.effective.contract.ts";
import { SettingsPath } from "./applications.settings.operator.contract.ts";

const getEffectiveSettings = operation({
  method: "GET",
  path: "/_/api/applications/{appid}/settings/effective",
  operation: "getEffectiveSettings",
  summary: "Read the effective settings of an application, their defaults and last changes",
  description: "PUT does not accept this result, but that of GET …/settings.",
  tag: "Operators",
  caller: "operator",
  pathParameters: SettingsPath,
  status: 200,
  result: EffectiveSettings,
  errors: ["ItemDoesNotExist"],
  async handle({ path: { appid } }, { config, database, settingsSealer }) {
    await requireApplication(appid, database.reads);
    const stored = await loadGuardedSettings(appid, database.reads);
    const set = shownSettings(openVersion(appid, stored, settingsSealer).settings);
    const defaults = defaultsOf(config);
    return {
      values: JSON.stringify(merge(defaults, set)),
      defaults: JSON.stringify(defaults),
      changed: presentChanges(await loadSettingsChanges(appid, database.reads)),
      hasSigningSecret: await hasSigningSecret(appid, database.reads),
    };
  },
});

/** The values of settings that an application does not set. */
function defaultsOf(config: Services["config"]): ApplicationSettings {
  const { deviceTokenLifetimeMs: deviceMs, userTokenLifetimeMs: userMs, mailFrom } = config;
  const limits = readRateLimits(config);
  return {
    oidc: {},
    retention: retentionOf({ oidc: {} }),
    tokenLifetimes: { deviceMs, userMs, sessionMs: sessionMsDefault, endOnReuse: false },
    disabledOperations: [],
    signedRequests: "optional",
    ...(limits && { limits: { application: limits.application, caller: limits.caller } }),
    mail: {
      from: mailFrom.name === "" ? mailFrom.address : `${mailFrom.name} <${mailFrom.address}>`,
      templates: "client",
      linkHosts: [],
    },
    locationData: "strip",
    debug: false,
    email: { requirePassword: false, changeByCode: false },
    signIn: { byEmail: false },
    passwords: { minLength: passwordLength.min, refuseBreached: false },
    events: defaultLogSettings,
    rehearsal: "off",
  };
}

/** Merges set values over the defaults; a setting with members is merged member by member. */
function merge(defaults: ApplicationSettings, set: ApplicationSettings): object {
  const known = fieldsOf(defaults);
  const entries = Object.entries(set).map(([name, value]) => [name, mergeMember(known[name], value)]);
  return { ...defaults, ...Object.fromEntries(entries) };
}

function mergeMember(standard: unknown, value: unknown): unknown {
  const hasMembers = typeof value === "object" && value !== null && !Array.isArray(value);
  return hasMembers ? { ...Object(standard), ...value } : value;
}

function presentChanges(changes: SettingsChanges) {
  const entries = Object.entries(changes).map(([member, { at, id, name }]) => [
    member,
    { at: formatDate(at), by: id, ...(name !== "" && { name }) },
  ]);
  return Object.fromEntries(entries);
}

/** The effective settings of an application (spec/operators#effective-settings). */
export const effectiveSettingsOperations = [getEffectiveSettings];

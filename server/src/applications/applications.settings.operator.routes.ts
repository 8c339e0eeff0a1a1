import { noteChanges } from "../audit/audit.changes.ts";
import { requireApplication } from "../auth/operated-application.ts";
import { mayDo } from "../config/roles.ts";
import type { Call } from "../contract/call.ts";
import type { OperatorCaller } from "../contract/route.ts";
import { Type } from "../contract/schema.ts";
import { unknownPatterns, updateLogSettings } from "../event-log/log-settings.ts";
import { OutgoingError } from "../http/outgoing/outgoing.ts";
import { ApiError, type Problem } from "../lib/errors.ts";
import { newSigningSecret } from "../lib/secrets.ts";
import { operation } from "../operations/operation.ts";
import type { CommandServices } from "../operations/services.ts";
import {
  type ApplicationSettings,
  ApplicationSettingsError,
  loadGuardedSettings,
} from "../tenancy/application-settings.ts";
import { updateSigningSecret } from "../tenancy/policies.ts";
import { changedUrls } from "../tenancy/public-only.ts";
import { recordSettingsChange } from "../tenancy/settings-authors.ts";
import {
  changeApplicationSettings,
  changedSettings,
  openVersion,
  SettingsChangedError,
  type StoredVersion,
  shownSettings,
} from "../tenancy/settings-changes.ts";
import { applicationEvent, settingsEvent } from "./applications.events.ts";
import {
  PutSigningSecret,
  readChangedSettings,
  readSettings,
  Settings,
  SettingsBody,
  SettingsPath,
  SigningSecret,
} from "./applications.settings.operator.contract.ts";

async function loadVersion(appid: string, { database, settingsSealer }: CommandServices): Promise<StoredVersion> {
  return openVersion(appid, await loadGuardedSettings(appid, database.reads), settingsSealer);
}

const getSettings = operation({
  method: "GET",
  path: "/_/api/applications/{appid}/settings",
  operation: "getApplicationSettings",
  summary: "Read the settings of an application, without secrets",
  description: "Unset members are absent. The ETag names this version.",
  tag: "Operators",
  caller: "operator",
  pathParameters: SettingsPath,
  status: 200,
  result: Settings,
  errors: ["ItemDoesNotExist"],
  async handle({ path: { appid }, call }, services) {
    await requireApplication(appid, services.database.reads);
    return present(await loadVersion(appid, services), call);
  },
});

/** @throws ApplicationSettingsError naming the changed URLs that resolve to an address that is not public */
async function requirePublicUrls(
  appid: string,
  read: (current: ApplicationSettings) => ApplicationSettings,
  services: CommandServices,
): Promise<void> {
  const { settings: current } = await loadVersion(appid, services);
  const changed = changedUrls(current, changedSettings(current, read));
  const findWrong = async ([setting, url]: [string, string]) => ((await isPublic(url, services)) ? [] : [setting]);
  const wrong = await services.database.outsideTransaction(`public ${JSON.stringify([...changed])}`, () =>
    Promise.all([...changed].map(findWrong)),
  );
  if (wrong.flat().length > 0) {
    throw new ApplicationSettingsError(wrong.flat().map((setting) => `${setting} ${publicUrlRule}`));
  }
}

async function isPublic(url: string, { outgoing }: CommandServices): Promise<boolean> {
  try {
    await outgoing.findPublicAddresses(new URL(url).hostname);
    return true;
  } catch (error) {
    if (!(error instanceof OutgoingError)) throw error;
    return false;
  }
}

async function change(
  appid: string,
  { role, operatorId, name }: OperatorCaller,
  read: (current: ApplicationSettings) => ApplicationSettings,
  call: Call,
  services: CommandServices,
): Promise<string> {
  const { database, revocations, settingsSealer, clock, events, config } = services;
  await requireApplication(appid, database.reads);
  const mayReachInternal = mayDo(role, "owner");
  if (!mayReachInternal) await requirePublicUrls(appid, read, services).catch(refuseWrong);
  const changed = await database
    .write(async (transaction) => {
      const { queries } = transaction;
      let before: ApplicationSettings | undefined;
      const stored = await changeApplicationSettings(
        appid,
        (current) => {
          before = current;
          return requirePossible(read(current), config);
        },
        {
          mayReachInternal,
          isExpected: (tag) => isNamed(tag, call.ifMatch),
          author: { at: clock.now(), id: operatorId, name },
        },
        { dialect: database.dialect, sealer: settingsSealer },
        queries,
      );
      if (stored === undefined || before === undefined) return undefined;
      // Recorded before the log settings change, so that a change that stops the recording is still recorded.
      await events.record(appid, settingsEvent(appid, before, stored.settings), queries);
      await revocations.invalidatePolicies(appid, transaction);
      await updateLogSettings(appid, stored.settings.events, clock.now(), database, queries);
      transaction.afterCommit(() => events.forgetSettings(appid));
      return stored;
    })
    .catch((error: unknown) => refuseChanged(error, call));
  if (changed === undefined) throw new ApiError("ItemDoesNotExist");
  noteChanges(call, shownSettings(changed.before), shownSettings(changed.settings));
  return present(changed, call);
}

/** @throws ApplicationSettingsError for settings that could have no effect on this server */
function requirePossible(
  settings: ApplicationSettings,
  { breachedPasswordsUrl }: CommandServices["config"],
): ApplicationSettings {
  const [unknown] = unknownPatterns(settings.events?.types ?? []);
  const problems = [
    ...(unknown === undefined
      ? []
      : [`events.types must be types such as checkin.created or checkin.*, not ${unknown}`]),
    ...(settings.passwords?.refuseBreached === true && breachedPasswordsUrl === undefined
      ? ["passwords.refuseBreached needs BREACHED_PASSWORDS_URL on the server"]
      : []),
  ];
  if (problems.length > 0) throw new ApplicationSettingsError(problems);
  return settings;
}

/** Whether If-Match names this version, or is absent. */
function isNamed(tag: string, ifMatch: string | undefined): boolean {
  if (ifMatch === undefined || ifMatch.trim() === "*") return true;
  return ifMatch.split(",").some((each) => each.trim() === `"${tag}"`);
}

/** @throws ApiError ObjectChanged with the stored settings */
function refuseChanged(error: unknown, call: Call): never {
  if (!(error instanceof SettingsChangedError)) return refuseWrong(error);
  setTag(error.stored, call);
  throw new ApiError("ObjectChanged", undefined, { cause: error, current: shownSettings(error.stored.settings) });
}

export const putSettings = operation({
  method: "PUT",
  path: "/_/api/applications/{appid}/settings",
  operation: "putApplicationSettings",
  summary: "Replace all settings of an application",
  description: "Absent members are unset. With If-Match, replaces only the version that it names.",
  tag: "Operators",
  caller: "operator",
  pathParameters: SettingsPath,
  parameters: SettingsBody,
  status: 200,
  result: Settings,
  errors: ["ItemDoesNotExist", "ObjectChanged"],
  handle: ({ caller, path: { appid }, parameters, call }, services: CommandServices) =>
    change(appid, caller, () => readSettings(parameters, call.readParameters()), call, services),
});

const changeSettings = operation({
  method: "PATCH",
  path: "/_/api/applications/{appid}/settings",
  operation: "changeApplicationSettings",
  summary: "Change some settings of an application, each completely; null unsets a setting",
  description: "Absent members do not change. With If-Match, changes only the version that it names.",
  tag: "Operators",
  caller: "operator",
  pathParameters: SettingsPath,
  parameters: SettingsBody,
  status: 200,
  result: Settings,
  errors: ["ItemDoesNotExist", "ObjectChanged"],
  handle: ({ caller, path: { appid }, parameters, call }, services) =>
    change(appid, caller, (current) => readChangedSettings(current, parameters, call.readParameters()), call, services),
});

/** @throws ApiError ItemDoesNotExist */
async function setSecret(
  appid: string,
  secret: string | null,
  { operatorId, name }: OperatorCaller,
  services: CommandServices,
): Promise<void> {
  const sealed = secret === null ? null : services.policies.seal(appid, secret);
  const isSet = await services.database.write(async (transaction) => {
    const { queries } = transaction;
    if (!(await updateSigningSecret(appid, sealed, queries))) return false;
    await recordSettingsChange(appid, ["signingSecret"], { at: services.clock.now(), id: operatorId, name }, queries);
    await services.events.record(appid, applicationEvent(appid, "settings_changed", ["signingSecret"]), queries);
    await services.revocations.invalidatePolicies(appid, transaction);
    return true;
  });
  if (!isSet) throw new ApiError("ItemDoesNotExist");
}

export const putSigningSecret = operation({
  method: "PUT",
  path: "/_/api/applications/{appid}/signing-secret",
  operation: "putSigningSecret",
  summary: "Set a new shared secret for signed requests; it is shown only once",
  description: "Without a secret in the call, the server generates one.",
  tag: "Operators",
  caller: "operator",
  pathParameters: SettingsPath,
  parameters: PutSigningSecret,
  status: 200,
  result: SigningSecret,
  errors: ["ItemDoesNotExist"],
  async handle({ caller, path: { appid }, parameters: { secret = newSigningSecret() } }, services: CommandServices) {
    await setSecret(appid, secret, caller, services);
    return { secret };
  },
});

export const deleteSigningSecret = operation({
  method: "DELETE",
  path: "/_/api/applications/{appid}/signing-secret",
  operation: "deleteSigningSecret",
  summary: "Remove the shared secret for signed requests",
  description: "Signatures are no longer checked.",
  tag: "Operators",
  caller: "operator",
  role: "owner",
  proof: "recent",
  pathParameters: SettingsPath,
  status: 200,
  result: Type.Literal(true),
  errors: ["ItemDoesNotExist"],
  async handle({ caller, path: { appid } }, services: CommandServices) {
    await setSecret(appid, null, caller, services);
    return true as const;
  },
});

const publicUrlRule = "must lead to public addresses only; an owner can set any other";

function present(stored: StoredVersion, call: Call): string {
  setTag(stored, call);
  return JSON.stringify(shownSettings(stored.settings));
}

function setTag({ tag }: StoredVersion, call: Call): void {
  call.setHeader?.("ETag", `"${tag}"`);
}

/** The maximum number of problems in a response. */
const problemsMax = 50;

function refuseWrong(error: unknown): never {
  if (!(error instanceof ApplicationSettingsError)) throw error;
  const problems = error.problems.slice(0, problemsMax).map(toProblem);
  throw new ApiError("ParameterOutOfRange", `${error.problems.join("; ")}.`, {
    cause: error,
    parameter: problems.length === 1 ? problems[0]?.path : undefined,
    problems,
  });
}

/** Splits a problem into the path of its setting and a description. */
function toProblem(problem: string): Problem {
  const [, path = "", message = ""] = /^(.+?) ((?:must|has an unknown member) [^;]+)/s.exec(problem) ?? [];
  const isSetting = (path.split(".")[0] ?? "") in SettingsBody.properties;
  return isSetting ? { path, message } : { path: undefined, message: problem.split(";", 1).join() };
}

/** The settings of an application, for operators. A change takes effect with the next request, in every process. */
export const applicationSettingsOperations = [
  getSettings,
  putSettings,
  changeSettings,
  putSigningSecret,
  deleteSigningSecret,
];

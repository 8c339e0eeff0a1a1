import { requireApplication } from "../auth/operated-application.ts";
import type { Revocations } from "../auth/revocations.ts";
import type { Database } from "../db/database.ts";
import { ApiError } from "../errors.ts";
import { type Route, route } from "../http/route.ts";
import { Type } from "../http/schema.ts";
import { newSigningSecret } from "../lib/secrets.ts";
import {
  type ApplicationSettings,
  ApplicationSettingsError,
  loadApplicationSettings,
} from "../tenancy/application-settings.ts";
import { type Policies, updateSigningSecret } from "../tenancy/policies.ts";
import { changeApplicationSettings, shownSettings } from "../tenancy/settings-changes.ts";
import {
  ChangeSettings,
  PutSettings,
  PutSigningSecret,
  readChangedSettings,
  readSettings,
  Settings,
  SettingsPath,
  SigningSecret,
} from "./applications.settings.operator.contract.ts";

/** What operators set for an application: all of it counts from the next request on, in every process. */
export function applicationsSettingsOperatorRoutes(services: {
  readonly database: Database;
  readonly policies: Policies;
  readonly revocations: Revocations;
}): Route[] {
  const { database, policies, revocations } = services;

  const getSettings = route({
    method: "GET",
    path: "/_/api/applications/{appid}/settings",
    operation: "getApplicationSettings",
    summary: "Read the settings of an application; nothing secret is in them",
    tag: "Operators",
    caller: "operator",
    pathParameters: SettingsPath,
    status: 200,
    result: Settings,
    errors: ["ItemDoesNotExist"],
    async handle({ path: { appid } }) {
      await requireApplication(appid, database.reads);
      return present(await loadApplicationSettings(appid, database.reads));
    },
  });

  async function change(appid: string, read: (current: ApplicationSettings) => ApplicationSettings): Promise<string> {
    await requireApplication(appid, database.reads);
    const changed = await database
      .write((transaction) => {
        revocations.judgeAgain(transaction);
        return changeApplicationSettings(appid, read, database.dialect, transaction.queries);
      })
      .catch(refuseWrong);
    if (changed === undefined) throw new ApiError("ItemDoesNotExist");
    return present(changed);
  }

  const putSettings = route({
    method: "PUT",
    path: "/_/api/applications/{appid}/settings",
    operation: "putApplicationSettings",
    summary: "Replace all settings of an application",
    tag: "Operators",
    caller: "operator",
    pathParameters: SettingsPath,
    parameters: PutSettings,
    status: 200,
    result: Settings,
    errors: ["ItemDoesNotExist"],
    handle: ({ path: { appid }, parameters, call }) =>
      change(appid, () => readSettings(parameters, call.readParameters())),
  });

  const changeSettings = route({
    method: "PATCH",
    path: "/_/api/applications/{appid}/settings",
    operation: "changeApplicationSettings",
    summary: "Replace some of the settings of an application, each as a whole; null unsets one",
    tag: "Operators",
    caller: "operator",
    pathParameters: SettingsPath,
    parameters: ChangeSettings,
    status: 200,
    result: Settings,
    errors: ["ItemDoesNotExist"],
    handle: ({ path: { appid }, parameters, call }) =>
      change(appid, (current) => readChangedSettings(current, parameters, call.readParameters())),
  });

  /** @throws ApiError ItemDoesNotExist */
  async function setSecret(appid: string, secret: string | null): Promise<void> {
    const sealed = secret === null ? null : policies.seal(appid, secret);
    const isSet = await database.write((transaction) => {
      revocations.judgeAgain(transaction);
      return updateSigningSecret(appid, sealed, transaction.queries);
    });
    if (!isSet) throw new ApiError("ItemDoesNotExist");
  }

  const putSigningSecret = route({
    method: "PUT",
    path: "/_/api/applications/{appid}/signing-secret",
    operation: "putSigningSecret",
    summary: "Set the shared secret of signed requests in place of the one before; it is told this once",
    tag: "Operators",
    caller: "operator",
    pathParameters: SettingsPath,
    parameters: PutSigningSecret,
    status: 200,
    result: SigningSecret,
    errors: ["ItemDoesNotExist"],
    async handle({ path: { appid }, parameters: { secret = newSigningSecret() } }) {
      await setSecret(appid, secret);
      return { secret };
    },
  });

  const deleteSigningSecret = route({
    method: "DELETE",
    path: "/_/api/applications/{appid}/signing-secret",
    operation: "deleteSigningSecret",
    summary: "Take the shared secret of signed requests away",
    tag: "Operators",
    caller: "operator",
    pathParameters: SettingsPath,
    status: 200,
    result: Type.Literal(true),
    errors: ["ItemDoesNotExist"],
    async handle({ path: { appid } }) {
      await setSecret(appid, null);
      return true as const;
    },
  });

  return [getSettings, putSettings, changeSettings, putSigningSecret, deleteSigningSecret];
}

function present(settings: ApplicationSettings): string {
  return JSON.stringify(shownSettings(settings));
}

function refuseWrong(error: unknown): never {
  if (!(error instanceof ApplicationSettingsError)) throw error;
  throw new ApiError("ParameterOutOfRange", `${error.problems.join("; ")}.`);
}

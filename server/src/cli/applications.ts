import { readFileSync } from "node:fs";
import {
  createApplicationKey,
  listApplicationKeys,
  replaceApplicationKeys,
  retireApplicationKey,
  revokeApplicationTokens,
  revokeKeyTokens,
} from "../applications/applications.keys.operator.routes.ts";
import { liveKeysMax } from "../applications/applications.keys.ts";
import { nameRule, readName } from "../applications/applications.names.ts";
import {
  changeApplication,
  resumeApplication,
  suspendApplication,
} from "../applications/applications.operator.routes.ts";
import {
  deleteSigningSecret,
  putSettings,
  putSigningSecret,
} from "../applications/applications.settings.operator.routes.ts";
import { signingSecretCharacters } from "../lib/secrets.ts";
import { parseApplicationSettings, retentionOf } from "../tenancy/application-settings.ts";
import { type Command, requireId, UsageError } from "./command.ts";
import { asOperator, operationCommand, showDate } from "./operator.ts";
import type { CommandResult } from "./output.ts";

/** The commands for existing applications. */
export const commands = {
  "apps configure": (config, _values, [given, file]) =>
    asOperator(config, async ({ perform }) => {
      const appid = requireId("apps configure", "App", given);
      if (file === undefined) throw new UsageError("apps configure needs a FILE.json");
      const text = readFileSync(file, "utf8");
      parseApplicationSettings(text); // throws an error that names every wrong member
      const parameters = JSON.parse(text);
      const shown = await perform(putSettings, { path: { appid }, parameters });
      const settings = parseApplicationSettings(shown);
      const providers = Object.keys(settings.oidc);
      const { metricsDays, crashReportsDays } = retentionOf(settings);
      const retention = `metrics ${metricsDays} days, crash reports ${crashReportsDays} days`;
      const lines = [`configured ${appid}`, `oidc  ${providers.join(", ") || "none"}`, `kept  ${retention}`];
      return { json: JSON.parse(shown), text: lines.join("\n") };
    }),

  "apps rename": (config, values, [given]) =>
    asOperator(config, async ({ perform }) => {
      const appid = requireId("apps rename", "App", given);
      const name = requireName("apps rename", values.name);
      await perform(changeApplication, { path: { appid }, parameters: { name } });
      return { json: { appid, name }, text: `renamed ${appid}` };
    }),

  "apps suspend": operationCommand(suspendApplication, readApplication("apps suspend"), (appid) => ({
    json: { appid, state: "suspended" },
    text: `suspended ${appid}`,
  })),

  "apps resume": operationCommand(resumeApplication, readApplication("apps resume"), (appid) => ({
    json: { appid, state: "active" },
    text: `resumed ${appid}`,
  })),

  "apps revoke-tokens": operationCommand(
    revokeApplicationTokens,
    readApplication("apps revoke-tokens"),
    (appid) => ({ json: { appid, revoked: true }, text: `revoked every token of ${appid}` }),
    "apps revoke-tokens ends every token of the application: confirm with --yes",
  ),

  "apps compromised": operationCommand(
    replaceApplicationKeys,
    readApplication("apps compromised"),
    (_appid, key) => showKey(key),
    "apps compromised ends every token and key: confirm with --yes",
  ),

  "apps keys list": (config, _values, [given]) =>
    asOperator(config, async ({ list }) => {
      const appid = requireId("apps keys list", "App", given);
      const rows = (await list(listApplicationKeys, { path: { appid } })).map((key) => ({
        id: key.id,
        label: key.label ?? "",
        created: showDate(key.created),
        state: key.state,
        devices: String(key.devices),
        lastRegistered: showDate(key.lastRegistered),
      }));
      const columns = ["id", "label", "created", "state", "devices", "lastRegistered"];
      return { json: rows, text: { columns, rows } };
    }),

  "apps keys create": (config, values, [given]) =>
    asOperator(config, async ({ perform }) => {
      const appid = requireId("apps keys create", "App", given);
      const label = values.label === undefined ? undefined : readName(values.label);
      if (values.label !== undefined && label === undefined) {
        throw new UsageError(`apps keys create: --label ${nameRule}`);
      }
      const parameters = label === undefined ? {} : { label };
      const refusals = { ParameterOutOfRange: `an application has at most ${liveKeysMax} active keys` };
      return showKey(await perform(createApplicationKey, { path: { appid }, parameters, refusals }));
    }),

  "apps keys retire": (config, { yes = false }, rest) =>
    asOperator(config, async ({ perform }) => {
      const { id, path, refusals } = readKey("apps keys retire")(rest);
      const { state } = await perform(retireApplicationKey, {
        path,
        parameters: yes ? { confirm: id } : {},
        refusals: {
          ...refusals,
          ParameterOutOfRange: "no device could register any more: create another key first, or confirm with --yes",
        },
      });
      return { json: { id, state }, text: `${state} ${id}` };
    }),

  "apps keys revoke-tokens": operationCommand(
    revokeKeyTokens,
    readKey("apps keys revoke-tokens"),
    (id) => ({ json: { id, revoked: true }, text: `revoked every token of ${id}` }),
    "apps keys revoke-tokens ends every token below the key: confirm with --yes",
  ),

  "apps secret set": (config, _values, [given, file]) =>
    asOperator(config, async ({ perform }) => {
      const appid = requireId("apps secret set", "App", given);
      const parameters = file === undefined ? {} : { secret: readSecret(file) };
      const { secret } = await perform(putSigningSecret, { path: { appid }, parameters });
      return { json: { secret }, text: `secret  ${secret}` };
    }),

  "apps secret delete": operationCommand(
    deleteSigningSecret,
    readApplication("apps secret delete"),
    (appid) => ({ json: { appid, deleted: true }, text: `deleted the shared secret of ${appid}` }),
    "apps secret delete changes which requests are accepted: unsigned ones, or none. Confirm with --yes",
  ),
} satisfies Readonly<Record<string, Command>>;

/** @throws UsageError */
export function requireName(command: string, text: string | undefined): string {
  const name = text === undefined ? undefined : readName(text);
  if (name === undefined) throw new UsageError(`${command} needs --name, which ${nameRule}`);
  return name;
}

function readApplication(command: string) {
  return ([given]: readonly string[]) => {
    const appid = requireId(command, "App", given);
    return { id: appid, path: { appid } };
  };
}

function readKey(command: string) {
  return ([given, id]: readonly string[]) => {
    const appid = requireId(command, "App", given);
    const keyId = requireId(command, "ApplicationKey", id);
    return { id: keyId, path: { appid, keyId }, refusals: { ItemDoesNotExist: `${appid} has no key ${keyId}` } };
  };
}

/** Reads an existing shared secret from a file. */
function readSecret(file: string): string {
  const secret = readFileSync(file, "utf8").trim();
  const characters = [...secret].length;
  const { min, max } = signingSecretCharacters;
  if (characters >= min && characters <= max && !secret.includes("\0")) return secret;
  throw new UsageError(`a shared secret must have ${min} to ${max} characters`);
}

function showKey(key: { id: string; appkey: string; label?: string }): CommandResult {
  const { id, appkey, label } = key;
  const json = { id, appkey, ...(label !== undefined && { label }) };
  const lines = Object.entries(json).map(([name, value]) => `${name.padEnd(6)}  ${value}`);
  return { json, text: lines.join("\n") };
}

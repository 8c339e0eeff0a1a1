import { readFileSync } from "node:fs";
import { presentKey } from "./applications/applications.keys.operator.contract.ts";
import { countDevices, findKey, listKeys } from "./applications/applications.keys.store.ts";
import { createKey, liveKeysMax, replaceKeys, retireKey } from "./applications/applications.keys.ts";
import { nameRule, readName } from "./applications/applications.names.ts";
import { findLiveApplication, updateApplication } from "./applications/applications.store.ts";
import { createRevocations } from "./auth/revocations.ts";
import { type Command, createClockAndIds, UsageError, withDatabase } from "./cli.command.ts";
import { recordCommand } from "./cli.operators.ts";
import type { CommandResult } from "./cli.output.ts";
import type { Config } from "./config.ts";
import type { Database, Transaction } from "./db/database.ts";
import { lockApplication } from "./db/lock.ts";
import { kindOfId } from "./lib/ids.ts";
import { newSigningSecret, signingSecretCharacters } from "./lib/secrets.ts";
import { loadSecrets } from "./server-secret.ts";
import { createPolicies, updateSigningSecret } from "./tenancy/policies.ts";

/** A command caches no tokens, so there is no cache to invalidate; running servers poll the database. */
export const revocations = createRevocations({ invalidateTokenCache() {} });

/** The commands about existing applications. */
export const applicationCommands: Readonly<Record<string, Command>> = {
  "apps rename": (config, { name }, [appid]) =>
    change(config, { command: "apps rename", action: "changeApplication" }, appid, async (id, { queries }) => {
      const renamed = requireName("apps rename", name);
      await updateApplication(id, { name: renamed }, queries);
      return { json: { appid: id, name: renamed }, text: `renamed ${id}` };
    }),

  "apps suspend": (config, _values, [appid]) =>
    change(config, { command: "apps suspend", action: "suspendApplication" }, appid, async (id, { queries }) => {
      await updateApplication(id, { suspended_at: createClockAndIds().clock.now() }, queries);
      return { json: { appid: id, state: "suspended" }, text: `suspended ${id}` };
    }),

  "apps resume": (config, _values, [appid]) =>
    change(config, { command: "apps resume", action: "resumeApplication" }, appid, async (id, { queries }) => {
      await updateApplication(id, { suspended_at: null }, queries);
      return { json: { appid: id, state: "active" }, text: `resumed ${id}` };
    }),

  "apps revoke-tokens": (config, { yes = false }, [appid]) =>
    change(
      config,
      { command: "apps revoke-tokens", action: "revokeApplicationTokens" },
      appid,
      async (id, transaction) => {
        if (!yes) throw new UsageError("apps revoke-tokens ends every token of the application: confirm with --yes");
        await revocations.endApplicationTokens(id, transaction);
        return { json: { appid: id, revoked: true }, text: `revoked every token of ${id}` };
      },
    ),

  "apps compromised": (config, { yes = false }, [appid]) =>
    change(
      config,
      { command: "apps compromised", action: "replaceApplicationKeys" },
      appid,
      async (id, transaction) => {
        if (!yes) throw new UsageError("apps compromised ends every token and key: confirm with --yes");
        return showKey(await replaceKeys(id, { revocations, ...createClockAndIds() }, transaction));
      },
    ),

  "apps keys list": (config, _values, [appid]) =>
    withDatabase(config, async (database) => {
      const id = requireAppid("apps keys list", appid);
      await requireApplication(id, database.reads);
      return listAllKeys(id, database);
    }),

  "apps keys create": (config, { label }, [appid]) =>
    change(
      config,
      { command: "apps keys create", action: "createApplicationKey" },
      appid,
      async (id, transaction, database) => {
        const text = label === undefined ? null : readName(label);
        if (text === undefined) throw new UsageError(`apps keys create: --label ${nameRule}`);
        const created = await createKey(id, text, { database, ...createClockAndIds() }, transaction);
        if (created === undefined) throw new UsageError(`an application has at most ${liveKeysMax} active keys`);
        return showKey(created);
      },
    ),

  "apps keys retire": (config, { yes = false }, [appid, keyId]) =>
    change(
      config,
      { command: "apps keys retire", action: "retireApplicationKey" },
      appid,
      async (id, transaction, database) => {
        const key = requireKeyId("apps keys retire", keyId);
        const retired = await retireKey(id, key, yes, { database, revocations, ...createClockAndIds() }, transaction);
        if (retired === undefined) throw new UsageError(`${id} has no key ${key}`);
        if (retired === "last") {
          throw new UsageError(`no device could register any more: create another key first, or confirm with --yes`);
        }
        const { state } = presentKey(retired);
        return { json: { id: key, state }, text: `${state} ${key}` };
      },
    ),

  "apps keys revoke-tokens": (config, { yes = false }, [appid, keyId]) =>
    change(
      config,
      { command: "apps keys revoke-tokens", action: "revokeKeyTokens" },
      appid,
      async (id, transaction) => {
        const key = requireKeyId("apps keys revoke-tokens", keyId);
        if (!yes) throw new UsageError("apps keys revoke-tokens ends every token below the key: confirm with --yes");
        if ((await findKey(id, key, transaction.queries)) === undefined)
          throw new UsageError(`${id} has no key ${key}`);
        await revocations.endKeyTokens(id, key, transaction);
        return { json: { id: key, revoked: true }, text: `revoked every token of ${key}` };
      },
    ),

  "apps secret set": (config, _values, [appid, file]) =>
    change(
      config,
      { command: "apps secret set", action: "putSigningSecret" },
      appid,
      async (id, { queries }, database) => {
        const secret = file === undefined ? newSigningSecret() : readSecret(file);
        const { seal } = createPolicies({ secrets: loadSecrets(config), database });
        await updateSigningSecret(id, seal(id, secret), queries);
        return { json: { secret }, text: `secret  ${secret}` };
      },
    ),

  "apps secret delete": (config, { yes = false }, [appid]) =>
    change(config, { command: "apps secret delete", action: "deleteSigningSecret" }, appid, async (id, { queries }) => {
      if (!yes)
        throw new UsageError(
          "apps secret delete changes which requests are accepted: unsigned ones, or none. Confirm with --yes",
        );
      await updateSigningSecret(id, null, queries);
      return { json: { appid: id, deleted: true }, text: `deleted the shared secret of ${id}` };
    }),
};

/** @throws UsageError */
export function requireName(command: string, text: string | undefined): string {
  const name = text === undefined ? undefined : readName(text);
  if (name === undefined) throw new UsageError(`${command} needs --name, which ${nameRule}`);
  return name;
}

/** Changes an existing application in one transaction. */
function change(
  config: Config,
  { command, action }: { readonly command: string; readonly action: string },
  appid: string | undefined,
  work: (appid: string, transaction: Transaction, database: Database) => Promise<CommandResult>,
): Promise<CommandResult> {
  return withDatabase(config, async (database) => {
    const id = requireAppid(command, appid);
    return database.write(async (transaction) => {
      await lockApplication(database.dialect, id, transaction.queries); // serializes with a move
      await requireApplication(id, transaction.queries);
      await recordCommand({ action, applicationId: id, target: id }, transaction.queries);
      return work(id, transaction, database);
    });
  });
}

export function requireAppid(command: string, appid: string | undefined): string {
  if (appid === undefined || kindOfId(appid) !== "App") throw new UsageError(`${command} needs an APPID`);
  return appid;
}

function requireKeyId(command: string, keyId: string | undefined): string {
  if (keyId === undefined || kindOfId(keyId) !== "ApplicationKey") throw new UsageError(`${command} needs a KEYID`);
  return keyId;
}

async function requireApplication(appid: string, queries: Transaction["queries"]): Promise<void> {
  const found = await findLiveApplication(appid, queries);
  if (found === undefined) throw new UsageError(`there is no application ${appid}`);
  if (found.moving_to !== null) throw new UsageError(`${appid} is moving to the region ${found.moving_to}`);
}

/** Reads a shared secret that the clients already have. */
function readSecret(file: string): string {
  const secret = readFileSync(file, "utf8").trim();
  const characters = [...secret].length;
  const { min, max } = signingSecretCharacters;
  if (characters >= min && characters <= max && !secret.includes("\0")) return secret;
  throw new UsageError(`a shared secret must have ${min} to ${max} characters`);
}

function showKey(key: { id: string; appkey: string; label: string | null }): CommandResult {
  const { id, appkey, label } = key;
  const json = { id, appkey, ...(label !== null && { label }) };
  const lines = Object.entries(json).map(([name, value]) => `${name.padEnd(6)}  ${value}`);
  return { json, text: lines.join("\n") };
}

const keysPerPage = 100;

async function listAllKeys(appid: string, { reads }: Database): Promise<CommandResult> {
  const rows: Record<string, string>[] = [];
  for (let offset = 0; ; offset += keysPerPage) {
    const page = await listKeys(appid, { at: "offset", offset }, keysPerPage, reads);
    for (const key of page.rows) {
      const { devices, lastRegisteredAt } = await countDevices(appid, key.id, reads);
      rows.push({
        id: key.id,
        label: key.label ?? "",
        created: new Date(key.created_at).toISOString(),
        state: presentKey(key).state,
        devices: String(devices),
        lastRegistered: lastRegisteredAt === undefined ? "" : new Date(lastRegisteredAt).toISOString(),
      });
    }
    if (!page.hasNext) break;
  }
  const columns = ["id", "label", "created", "state", "devices", "lastRegistered"];
  return { json: rows, text: { columns, rows } };
}

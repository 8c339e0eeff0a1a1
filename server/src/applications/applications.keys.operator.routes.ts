import { noteChanges } from "../audit/audit.changes.ts";
import { requireApplication } from "../auth/operated-application.ts";
import { Type } from "../contract/schema.ts";
import type { Transaction } from "../db/database.ts";
import { ApiError } from "../lib/errors.ts";
import { operation } from "../operations/operation.ts";
import type { CommandServices } from "../operations/services.ts";
import {
  ChangedKey,
  ChangeKey,
  CreateKey,
  KeyPage,
  KeyPath,
  KeysPath,
  ListKeys,
  NewKey,
  presentKey,
  presentNewKey,
  presentUsedKey,
  RetireKey,
} from "./applications.keys.operator.contract.ts";
import { countDevices, findKey, listKeys, updateKeyLabel } from "./applications.keys.store.ts";
import { createKey, liveKeysMax, replaceKeys, retireKey } from "./applications.keys.ts";
import { nameRule, readName } from "./applications.names.ts";

export const listApplicationKeys = operation({
  method: "GET",
  path: "/_/api/applications/{appid}/keys",
  operation: "listApplicationKeys",
  summary: "List the keys of an application, oldest first, with the number of devices of each",
  description: "The keys themselves are not shown.",
  tag: "Operators",
  caller: "operator",
  pathParameters: KeysPath,
  parameters: ListKeys,
  status: 200,
  result: KeyPage,
  errors: ["ItemDoesNotExist"],
  async handle({ caller, path: { appid }, parameters, call }, { paging, database: { reads } }: CommandServices) {
    await requireApplication(appid, reads);
    const listing = `keys of ${appid}`;
    const request = await paging.read(listing, caller, parameters, call);
    const page = await listKeys(appid, request.position, request.size, reads);
    const uses = new Map<string, Awaited<ReturnType<typeof countDevices>>>();
    for (const { id } of page.rows) uses.set(id, await countDevices(appid, id, reads));
    return paging.present(listing, caller, request, page, (key) =>
      presentUsedKey({ ...key, ...(uses.get(key.id) ?? { devices: 0, lastRegisteredAt: undefined }) }),
    );
  },
});

export const createApplicationKey = operation({
  method: "POST",
  path: "/_/api/applications/{appid}/keys",
  operation: "createApplicationKey",
  summary: "Create another key of an application, which is shown only once; existing keys stay valid",
  description: "For a new version of an app, or to replace a key before it is retired.",
  tag: "Operators",
  caller: "operator",
  pathParameters: KeysPath,
  parameters: CreateKey,
  status: 201,
  result: NewKey,
  errors: ["ItemDoesNotExist"],
  async handle({ path: { appid }, parameters: { label } }, services: CommandServices) {
    await requireApplication(appid, services.database.reads);
    const text = label === undefined ? null : requireLabel(label);
    const created = await write(appid, services, (transaction) => createKey(appid, text, services, transaction));
    if (created !== undefined) return presentNewKey(created);
    throw new ApiError("ParameterOutOfRange", `An application has at most ${liveKeysMax} active keys. Retire one.`);
  },
});

const changeKey = operation({
  method: "PATCH",
  path: "/_/api/applications/{appid}/keys/{keyId}",
  operation: "changeApplicationKey",
  summary: "Change the label of a key",
  description: "The label of a retired key can also be changed.",
  tag: "Operators",
  caller: "operator",
  pathParameters: KeyPath,
  parameters: ChangeKey,
  status: 200,
  result: ChangedKey,
  errors: ["ItemDoesNotExist"],
  handle: ({ path: { appid, keyId }, parameters: { label }, call }, services) =>
    write(appid, services, async ({ queries }) => {
      const text = requireLabel(label);
      const key = await findKey(appid, keyId, queries);
      if (key === undefined) throw new ApiError("ItemDoesNotExist");
      noteChanges(call, { label: key.label }, { label: text });
      await updateKeyLabel(appid, keyId, text, queries);
      return presentKey({ ...key, label: text });
    }),
});

/** @throws ApiError ParameterOutOfRange */
function requireLabel(label: string): string {
  const text = readName(label);
  if (text === undefined) throw new ApiError("ParameterOutOfRange", `label ${nameRule}.`, { parameter: "label" });
  return text;
}

export const retireApplicationKey = operation({
  method: "POST",
  path: "/_/api/applications/{appid}/keys/{keyId}/retire",
  operation: "retireApplicationKey",
  summary: "Retire a key: devices can no longer register with it, and its tokens are revoked",
  description: "The last active key requires its id in `confirm`.",
  tag: "Operators",
  caller: "operator",
  pathParameters: KeyPath,
  parameters: RetireKey,
  status: 200,
  result: ChangedKey,
  errors: ["ItemDoesNotExist"],
  async handle({ path: { appid, keyId }, parameters: { confirm } }, services: CommandServices) {
    const retired = await write(appid, services, (transaction) =>
      retireKey(appid, keyId, confirm === keyId, services, transaction),
    );
    if (retired === undefined) throw new ApiError("ItemDoesNotExist");
    if (retired !== "last") return presentKey(retired);
    throw new ApiError(
      "ParameterOutOfRange",
      "No device could register any more: create another key first, or repeat the id of this one as confirm.",
    );
  },
});

export const revokeKeyTokens = operation({
  method: "POST",
  path: "/_/api/applications/{appid}/keys/{keyId}/revoke-tokens",
  operation: "revokeKeyTokens",
  summary: "Revoke every token issued under a key; devices can register with it again",
  description: "Use it when tokens, but not the key, have leaked.",
  tag: "Operators",
  caller: "operator",
  pathParameters: KeyPath,
  status: 200,
  result: Type.Literal(true),
  errors: ["ItemDoesNotExist"],
  async handle({ path: { appid, keyId } }, services: CommandServices) {
    return write(appid, services, async (transaction) => {
      if ((await findKey(appid, keyId, transaction.queries)) === undefined) throw new ApiError("ItemDoesNotExist");
      await services.revocations.endKeyTokens(appid, keyId, transaction);
      return true as const;
    });
  },
});

export const revokeApplicationTokens = operation({
  method: "POST",
  path: "/_/api/applications/{appid}/revoke-tokens",
  operation: "revokeApplicationTokens",
  summary: "Revoke every token of an application; its keys stay valid, so devices can register again",
  description: "Devices must register again, and users must log in again.",
  tag: "Operators",
  caller: "operator",
  pathParameters: KeysPath,
  status: 200,
  result: Type.Literal(true),
  errors: ["ItemDoesNotExist"],
  async handle({ path: { appid } }, services: CommandServices) {
    return write(appid, services, async (transaction) => {
      await services.revocations.endApplicationTokens(appid, transaction);
      return true as const;
    });
  },
});

export const replaceApplicationKeys = operation({
  method: "POST",
  path: "/_/api/applications/{appid}/compromised",
  operation: "replaceApplicationKeys",
  summary: "Revoke every token and key of an application and create a new key, which is shown only once",
  description: "Use it when a key has leaked: apps need the new one to register.",
  tag: "Operators",
  caller: "operator",
  role: "owner",
  proof: "recent",
  pathParameters: KeysPath,
  status: 201,
  result: NewKey,
  errors: ["ItemDoesNotExist"],
  async handle({ path: { appid } }, services: CommandServices) {
    const created = await write(appid, services, (transaction) => replaceKeys(appid, services, transaction));
    return presentNewKey(created);
  },
});

/** Runs a transaction after checking that the application exists. */
function write<T>(
  appid: string,
  { database }: CommandServices,
  work: (transaction: Transaction) => Promise<T>,
): Promise<T> {
  return database.write(async (transaction) => {
    await requireApplication(appid, transaction.queries);
    return work(transaction);
  });
}

/** The keys of an application, and the revocation of all tokens of the application or of one key. */
export const applicationKeyOperations = [
  listApplicationKeys,
  createApplicationKey,
  changeKey,
  retireApplicationKey,
  revokeKeyTokens,
  revokeApplicationTokens,
  replaceApplicationKeys,
];

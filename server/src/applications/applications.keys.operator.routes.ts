import { requireApplication } from "../auth/operated-application.ts";
import type { Revocations } from "../auth/revocations.ts";
import type { Database, Transaction } from "../db/database.ts";
import { ApiError } from "../errors.ts";
import type { Paging } from "../http/paging.ts";
import { type Route, route } from "../http/route.ts";
import { Type } from "../http/schema.ts";
import type { Clock } from "../lib/clock.ts";
import type { IdGenerator } from "../lib/ids.ts";
import {
  ChangedKey,
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
import { countDevices, findKey, listKeys } from "./applications.keys.store.ts";
import { createKey, liveKeysMax, replaceKeys, retireKey } from "./applications.keys.ts";
import { nameRule, readName } from "./applications.names.ts";

/** The keys of an application, and the revocation of all tokens of the application or of one key. */
export function applicationsKeysOperatorRoutes(services: {
  readonly database: Database;
  readonly revocations: Revocations;
  readonly paging: Paging;
  readonly clock: Clock;
  readonly ids: IdGenerator;
}): Route[] {
  const { database, revocations, paging, clock, ids } = services;
  const { dialect, reads } = database;

  const listApplicationKeys = route({
    method: "GET",
    path: "/_/api/applications/{appid}/keys",
    operation: "listApplicationKeys",
    summary: "List the keys of an application, oldest first, with the devices that registered with each last",
    tag: "Operators",
    caller: "operator",
    pathParameters: KeysPath,
    parameters: ListKeys,
    status: 200,
    result: KeyPage,
    errors: ["ItemDoesNotExist"],
    async handle({ caller, path: { appid }, parameters, call }) {
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

  const createApplicationKey = route({
    method: "POST",
    path: "/_/api/applications/{appid}/keys",
    operation: "createApplicationKey",
    summary: "Create one more key of an application; it is shown only once, and those before stay good",
    tag: "Operators",
    caller: "operator",
    pathParameters: KeysPath,
    parameters: CreateKey,
    status: 201,
    result: NewKey,
    errors: ["ItemDoesNotExist"],
    async handle({ path: { appid }, parameters: { label } }) {
      await requireApplication(appid, reads);
      const text = label === undefined ? null : readName(label);
      if (text === undefined) throw new ApiError("ParameterOutOfRange", `label ${nameRule}.`);
      const created = await write(appid, (transaction) => createKey(appid, text, { dialect, clock, ids }, transaction));
      if (created !== undefined) return presentNewKey(created);
      throw new ApiError("ParameterOutOfRange", `An application has at most ${liveKeysMax} active keys. Retire one.`);
    },
  });

  const retireApplicationKey = route({
    method: "POST",
    path: "/_/api/applications/{appid}/keys/{keyId}/retire",
    operation: "retireApplicationKey",
    summary: "Take a key out of use: nobody registers with it any more, and every token below it is dead",
    tag: "Operators",
    caller: "operator",
    pathParameters: KeyPath,
    parameters: RetireKey,
    status: 200,
    result: ChangedKey,
    errors: ["ItemDoesNotExist"],
    async handle({ path: { appid, keyId }, parameters: { confirm } }) {
      const retired = await write(appid, (transaction) =>
        retireKey(appid, keyId, confirm === keyId, { dialect, revocations, clock }, transaction),
      );
      if (retired === undefined) throw new ApiError("ItemDoesNotExist");
      if (retired !== "last") return presentKey(retired);
      throw new ApiError(
        "ParameterOutOfRange",
        "No device could register any more: create another key first, or repeat the id of this one as confirm.",
      );
    },
  });

  const revokeKeyTokens = route({
    method: "POST",
    path: "/_/api/applications/{appid}/keys/{keyId}/revoke-tokens",
    operation: "revokeKeyTokens",
    summary: "End every token below a key; devices can register with it again",
    tag: "Operators",
    caller: "operator",
    pathParameters: KeyPath,
    status: 200,
    result: Type.Literal(true),
    errors: ["ItemDoesNotExist"],
    async handle({ path: { appid, keyId } }) {
      return write(appid, async (transaction) => {
        if ((await findKey(appid, keyId, transaction.queries)) === undefined) throw new ApiError("ItemDoesNotExist");
        await revocations.endKeyTokens(appid, keyId, transaction);
        return true as const;
      });
    },
  });

  const revokeApplicationTokens = route({
    method: "POST",
    path: "/_/api/applications/{appid}/revoke-tokens",
    operation: "revokeApplicationTokens",
    summary: "End every token of an application; its keys stay good, and devices register again by themselves",
    tag: "Operators",
    caller: "operator",
    pathParameters: KeysPath,
    status: 200,
    result: Type.Literal(true),
    errors: ["ItemDoesNotExist"],
    async handle({ path: { appid } }) {
      return write(appid, async (transaction) => {
        await revocations.endApplicationTokens(appid, transaction);
        return true as const;
      });
    },
  });

  const replaceApplicationKeys = route({
    method: "POST",
    path: "/_/api/applications/{appid}/compromised",
    operation: "replaceApplicationKeys",
    summary: "End every token and every key of an application at once, and create a new key, which is shown only once",
    tag: "Operators",
    caller: "operator",
    pathParameters: KeysPath,
    status: 201,
    result: NewKey,
    errors: ["ItemDoesNotExist"],
    async handle({ path: { appid } }) {
      const created = await write(appid, (transaction) => replaceKeys(appid, { revocations, clock, ids }, transaction));
      return presentNewKey(created);
    },
  });

  /** Runs a transaction on an existing application. */
  function write<T>(appid: string, work: (transaction: Transaction) => Promise<T>): Promise<T> {
    return database.write(async (transaction) => {
      await requireApplication(appid, transaction.queries);
      return work(transaction);
    });
  }

  return [
    listApplicationKeys,
    createApplicationKey,
    retireApplicationKey,
    revokeKeyTokens,
    revokeApplicationTokens,
    replaceApplicationKeys,
  ];
}

import { requireApplication } from "../auth/operated-application.ts";
import { listUserTokens } from "../auth/user-tokens.ts";
import { Type } from "../contract/schema.ts";
import { ApiError } from "../lib/errors.ts";
import { operation } from "../operations/operation.ts";
import {
  ListOperatedTokens,
  OperatedTokenPage,
  OperatedTokenPath,
  OperatedUserPath,
  presentOperatedToken,
} from "./users.operator.contract.ts";
import { signOut } from "./users.signing.ts";
import { findUser } from "./users.store.ts";

const listTokens = operation({
  method: "GET",
  path: "/_/api/applications/{appid}/users/{userId}/tokens",
  operation: "listTokensOfUser",
  summary: "List the active tokens of a user, newest first",
  description: "One entry for each login.",
  tag: "Operators",
  caller: "operator",
  pathParameters: OperatedUserPath,
  parameters: ListOperatedTokens,
  status: 200,
  result: OperatedTokenPage,
  errors: ["ItemDoesNotExist"],
  async handle({ caller, path: { appid, userId }, parameters, call }, { database, tokenUses, paging, clock }) {
    const listing = `tokens of ${appid} ${userId}`;
    const request = await paging.read(listing, caller, parameters, call);
    await requireApplication(appid, database.reads);
    if ((await findUser(appid, userId, database.reads)) === undefined) throw new ApiError("ItemDoesNotExist");
    await tokenUses.save(userId);
    const { position, size } = request;
    const page = await listUserTokens(appid, userId, clock.now(), position, size, database.reads);
    return paging.present(listing, caller, request, page, presentOperatedToken);
  },
});

const endToken = operation({
  method: "DELETE",
  path: "/_/api/applications/{appid}/users/{userId}/tokens/{tokenId}",
  operation: "endTokenOfUser",
  summary: "End one token of a user",
  description: "The user has to log in again on that device.",
  tag: "Operators",
  caller: "operator",
  pathParameters: OperatedTokenPath,
  status: 200,
  result: Type.Literal(true),
  errors: ["ItemDoesNotExist"],
  async handle({ path: { appid, userId, tokenId } }, services) {
    const isEnded = await services.database.write(async (transaction) => {
      await requireApplication(appid, transaction.queries);
      return signOut(appid, userId, tokenId, services, transaction);
    });
    if (!isEnded) throw new ApiError("ItemDoesNotExist");
    return true as const;
  },
});

/** Operators list a user's tokens, without the token strings, and revoke them. */
export const userTokenOperatorOperations = [listTokens, endToken];

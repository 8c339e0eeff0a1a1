import { applicationPathParameters, isUser, requireApplication } from "../auth/operated-application.ts";
import { Type } from "../contract/schema.ts";
import { IdInput } from "../contract/wire.ts";
import { ApiError } from "../lib/errors.ts";
import { operation } from "../operations/operation.ts";
import { IdentityPage, ListIdentities, presentIdentity } from "./identities.contract.ts";
import { listIdentities } from "./identities.store.ts";

const listIdentitiesOfUser = operation({
  method: "GET",
  path: "/_/api/applications/{appid}/users/{userId}/identities",
  operation: "listIdentitiesOfUser",
  summary: "List the identities of a user in other systems, newest first",
  description: "Those of all providers.",
  tag: "Operators",
  caller: "operator",
  pathParameters: Type.Object({ ...applicationPathParameters, userId: IdInput("User") }),
  parameters: ListIdentities,
  status: 200,
  result: IdentityPage,
  errors: ["ItemDoesNotExist"],
  async handle({ caller, path: { appid, userId }, parameters, call }, { database: { reads }, paging }) {
    const listing = `identities of ${userId} of ${appid}`;
    const request = await paging.read(listing, caller, parameters, call);
    await requireApplication(appid, reads);
    if (!(await isUser(appid, userId, reads))) throw new ApiError("ItemDoesNotExist");
    const page = await listIdentities(appid, userId, undefined, request.position, request.size, reads, call.work);
    return paging.present(listing, caller, request, page, presentIdentity);
  },
});

/** Operators list the identities of users. */
export const identityOperatorOperations = [listIdentitiesOfUser];

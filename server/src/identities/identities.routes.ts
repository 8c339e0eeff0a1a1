import type { Call } from "../contract/call.ts";
import type { UserCaller } from "../contract/route.ts";
import { Type } from "../contract/schema.ts";
import { isForeignKeyViolation } from "../db/dialect.ts";
import type { NewIdentityRow } from "../db/tables.ts";
import { identityEvent } from "../event-log/recorder.ts";
import { ApiError } from "../lib/errors.ts";
import { operation } from "../operations/operation.ts";
import type { Services } from "../operations/services.ts";
import {
  AddIdentity,
  IdentityPage,
  IdentityPath,
  ListIdentities,
  ProviderPath,
  presentIdentity,
  RemoveIdentities,
} from "./identities.contract.ts";
import { deleteIdentities, findIdentityUser, insertIdentity, listIdentities } from "./identities.store.ts";

const addIdentity = operation({
  method: "POST",
  path: "/users/me/identities/{identityProviderName}",
  operation: "addIdentity",
  summary: "Add an identity to the current user",
  description: "Links the user to an identifier in another system, which only one user of the application can have.",
  tag: "Identities",
  caller: "user",
  pathParameters: ProviderPath,
  parameters: AddIdentity,
  status: 200,
  result: Type.Literal(1),
  errors: ["ItemAlreadyExists"],
  async handle({ caller, path, parameters }, { database, clock, events }) {
    const identity: NewIdentityRow = {
      application_id: caller.applicationId,
      provider: path.identityProviderName,
      identifier: parameters.identityId,
      user_id: caller.userId,
      created_at: clock.now(),
    };
    const isHeld = await database.write(async ({ queries }) => {
      const isInserted = await insertIdentity(identity, queries).catch((error) => {
        // The user was deleted after the token check.
        throw isForeignKeyViolation(error) ? new ApiError("AuthAccessTokenInvalid") : error;
      });
      const event = identityEvent("added", caller.userId, path.identityProviderName);
      if (isInserted) await events.record(caller.applicationId, event, queries);
      return isInserted;
    });
    if (!isHeld)
      throw new ApiError("ItemAlreadyExists", "The identity belongs to another user.", { parameter: "identityId" });
    return 1 as const;
  },
});

async function list(
  caller: UserCaller,
  provider: string | undefined,
  parameters: { pageSize?: number; pagingToken?: string },
  call: Call,
  { paging, database }: Services,
) {
  // The path decides, not the token.
  const listing = provider === undefined ? "identities" : `identities of ${provider}`;
  const request = await paging.read(listing, caller, parameters, call);
  const { applicationId, userId } = caller;
  const { position, size } = request;
  const page = await listIdentities(applicationId, userId, provider, position, size, database.reads, call.work);
  return paging.present(listing, caller, request, page, presentIdentity);
}

const listOwnIdentities = operation({
  method: "GET",
  path: "/users/me/identities",
  operation: "listIdentities",
  summary: "List the current user's identities, newest first",
  description: "Identities of all providers.",
  tag: "Identities",
  caller: "user",
  parameters: ListIdentities,
  status: 200,
  result: IdentityPage,
  errors: [],
  handle: ({ caller, parameters, call }, services) => list(caller, undefined, parameters, call, services),
});

const listOwnIdentitiesOfProvider = operation({
  method: "GET",
  path: "/users/me/identities/{identityProviderName}",
  operation: "listIdentitiesOfProvider",
  summary: "List the current user's identities of one provider",
  description: "Newest first.",
  tag: "Identities",
  caller: "user",
  pathParameters: ProviderPath,
  parameters: ListIdentities,
  status: 200,
  result: IdentityPage,
  errors: [],
  handle: ({ caller, path, parameters, call }, services) =>
    list(caller, path.identityProviderName, parameters, call, services),
});

async function remove(
  { applicationId, userId }: UserCaller,
  provider: string,
  identifier: string | undefined,
  { database, events }: Services,
) {
  await database.write(async ({ queries }) => {
    const isRemoved = await deleteIdentities(applicationId, userId, provider, identifier, queries);
    if (isRemoved) await events.record(applicationId, identityEvent("removed", userId, provider), queries);
  });
  return true as const;
}

const removeIdentities = operation({
  method: "DELETE",
  path: "/users/me/identities/{identityProviderName}",
  operation: "deleteIdentities",
  summary: "Remove one or all identities of a provider from the current user",
  description: "Removes one identity if identityId is sent, and all of the provider otherwise.",
  tag: "Identities",
  caller: "user",
  pathParameters: ProviderPath,
  parameters: RemoveIdentities,
  status: 200,
  result: Type.Literal(true),
  errors: [],
  handle: ({ caller, path, parameters }, services) =>
    remove(caller, path.identityProviderName, parameters.identityId, services),
});

const removeIdentity = operation({
  method: "DELETE",
  path: "/users/me/identities/{identityProviderName}/{identityId}",
  operation: "deleteIdentity",
  summary: "Remove an identity from the current user",
  description: "Afterwards another user can have it.",
  tag: "Identities",
  caller: "user",
  pathParameters: IdentityPath,
  status: 200,
  result: Type.Literal(true),
  errors: [],
  handle: ({ caller, path }, services) => remove(caller, path.identityProviderName, path.identityId, services),
});

const findUserOfIdentity = operation({
  method: "GET",
  path: "/users/identities/{identityProviderName}/{identityId}",
  operation: "findUserOfIdentity",
  summary: "Find the user with an identity",
  description: "Answers with the id of the user.",
  tag: "Identities",
  caller: "user",
  pathParameters: IdentityPath,
  status: 200,
  result: Type.String({ description: "The user's id." }),
  errors: ["ItemDoesNotExist"],
  async handle({ caller, path }, { database }) {
    const { identityProviderName, identityId } = path;
    const { applicationId, userId: readerId } = caller;
    const userId = await findIdentityUser(applicationId, readerId, identityProviderName, identityId, database.reads);
    if (userId === undefined) throw new ApiError("ItemDoesNotExist");
    return userId;
  },
});

/** Identities in other systems (spec/identities). */
export const identityOperations = [
  addIdentity,
  listOwnIdentities,
  listOwnIdentitiesOfProvider,
  removeIdentities,
  removeIdentity,
  findUserOfIdentity,
];

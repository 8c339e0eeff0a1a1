import {
  addIdentity,
  deleteIdentities,
  deleteIdentity,
  findUserOfIdentity,
  listIdentities,
  listIdentitiesOfProvider,
} from "../generated/calls.ts";
import type { Identity } from "../generated/types.ts";
import type { PageOptions, Pages } from "../pages/pages.ts";
import type { CallOptions } from "../transport/options.ts";
import { listPages, orUndefined, type Send } from "./send.ts";

/** The user's identities at other providers. */
export interface IdentitiesNoun {
  add(provider: string, id: string, options?: CallOptions): Promise<void>;
  list(provider?: string, options?: PageOptions): Pages<Identity>;
  /** Removes one identity, or all identities of a provider. */
  remove(provider: string, id?: string, options?: CallOptions): Promise<void>;
  /** Returns the id of the user who has this identity, or undefined. */
  findUser(provider: string, id: string, options?: CallOptions): Promise<string | undefined>;
}

export function createIdentitiesNoun(send: Send): IdentitiesNoun {
  return {
    async add(provider, identityId, options) {
      await send(addIdentity(provider, { identityId }), options);
    },
    list: (provider, options) =>
      listPages(
        send,
        (query) => (provider === undefined ? listIdentities(query) : listIdentitiesOfProvider(provider, query)),
        undefined,
        options,
      ),
    remove: (provider, id, options) =>
      send(id === undefined ? deleteIdentities(provider) : deleteIdentity(provider, id), options),
    findUser: (provider, id, options) => orUndefined(send(findUserOfIdentity(provider, id), options)),
  };
}

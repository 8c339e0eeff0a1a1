import { PageOf, pagingParameters } from "../contract/paging.ts";
import { named, type Static, Type } from "../contract/schema.ts";
import { Text, WireDate } from "../contract/wire.ts";
import type { IdentityRow } from "../db/tables.ts";
import { formatDate } from "../lib/dates.ts";

const provider = Text({ maxLength: 256, description: "Name of the provider or system the identifier is for." });
const identifier = Text({ maxLength: 256, description: "The identifier in that system." });

export const ProviderPath = Type.Object({ identityProviderName: provider });
export const IdentityPath = Type.Object({ identityProviderName: provider, identityId: identifier });
export const AddIdentity = Type.Object({ identityId: identifier });
export const RemoveIdentities = Type.Object({
  identityId: Type.Optional({ ...identifier, description: "Without one, all of the provider." }),
});
export const ListIdentities = Type.Object(pagingParameters);

export const Identity = named(
  "Identity",
  "An identity of a user in another system.",
  Type.Object({
    identityProviderName: Type.String({ description: "The name of the other system." }),
    identityProviderID: Type.String({ description: "The identifier in that system." }),
    created: WireDate,
  }),
);

export const IdentityPage = PageOf(Identity);

export function presentIdentity(identity: IdentityRow): Static<typeof Identity> {
  return {
    identityProviderName: identity.provider,
    identityProviderID: identity.identifier,
    created: formatDate(identity.created_at),
  };
}

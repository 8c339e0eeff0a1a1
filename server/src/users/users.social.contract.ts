import { extended, Type } from "../contract/schema.ts";
import { Text } from "../contract/wire.ts";
import { UserWithToken } from "./users.contract.ts";

export const LoginSocialUser = Type.Object({
  identityProviderName: Text({
    maxLength: 256,
    alias: "identityProviderId",
    description: "As in the settings of the application.",
  }),
  identityID: Text({ maxLength: 256, description: "The subject (sub) of the id_token." }),
  identityAccessToken: Text({ maxLength: 16_384, description: "An OpenID Connect id_token." }),
});

export const SocialUserWithToken = extended(
  "SocialUserWithToken",
  "A user who logged in with an identity provider, and a new token of the user.",
  UserWithToken,
  { isNew: Type.Boolean({ description: "True when this login created the user." }) },
);

import { applicationPathParameters } from "../auth/operated-application.ts";
import type { ListedToken } from "../auth/user-tokens.ts";
import { PageOf, pagingParameters } from "../contract/paging.ts";
import { extended, named, type Static, Type } from "../contract/schema.ts";
import { sortOrders } from "../contract/search.ts";
import { Choice, DateInput, DateRangeInput, Email, Flag, IdInput, Text, WireDate } from "../contract/wire.ts";
import { forOwnedTables } from "../db/owned-tables.ts";
import { textPrefixCharactersMax } from "../db/search/filters.ts";
import type { UserRow } from "../db/tables.ts";
import { formatDate } from "../lib/dates.ts";
import {
  ChangeUser,
  CreateUser,
  emailCharactersMax,
  nameCharactersMax,
  OwnUser,
  presentProfile,
} from "./users.contract.ts";

export const OperatedUsersPath = Type.Object(applicationPathParameters);
export const OperatedUserPath = Type.Object({ ...applicationPathParameters, userId: IdInput("User") });
export const OperatedTokenPath = Type.Object({ ...OperatedUserPath.properties, tokenId: IdInput("Token") });

export const operatedUserOrders = ["created", "lastModified", "userName", "lastLogin"] as const;

const identifierCharactersMax = 256;

export const SearchOperatedUsers = Type.Object({
  userName: Type.Optional(
    Text({ maxLength: nameCharactersMax, description: "Regardless of case and of Unicode form." }),
  ),
  email: Type.Optional(Email({ maxLength: emailCharactersMax, description: "Exact, except for blanks around it." })),
  userNamePrefix: Type.Optional(
    Text({
      maxLength: nameCharactersMax,
      description: "The beginning of the user name, regardless of case and of Unicode form.",
    }),
  ),
  emailPrefix: Type.Optional(
    Text({ maxLength: textPrefixCharactersMax, description: "The beginning of the address, in the same case." }),
  ),
  name: Type.Optional(
    Text({
      minLength: 1,
      maxLength: nameCharactersMax,
      description:
        "The beginning of the first name, of the last name, or of both in either order, regardless of the case of A to Z: at most 100 users.",
    }),
  ),
  identityProviderID: Type.Optional(
    Text({
      maxLength: identifierCharactersMax,
      description: "Exact: an identifier in another system.",
    }),
  ),
  dateOfBirth: Type.Optional(DateInput({ description: "Exact." })),
  dobRange: Type.Optional(DateRangeInput({ description: "Of dateOfBirth." })),
  disabled: Type.Optional(Flag({ description: "Only users who are disabled, or only those who are not." })),
  created: Type.Optional(DateRangeInput({ description: "When it was created." })),
  lastModified: Type.Optional(DateRangeInput({ description: "When it was changed last." })),
  sortOrder: Type.Optional(
    Choice(sortOrders("OperatedUserSortOrder", operatedUserOrders), {
      description: "The order of the users.",
      default: "-created",
    }),
  ),
  ...pagingParameters,
});

/** The operator view of a user: the user's own view and the account state, without the password hash. */
const OperatedUser = extended("OperatedUser", "A user, as operators see it.", OwnUser, {
  hasPassword: Type.Boolean({ description: "False for users who only sign in with an identity provider." }),
  disabled: Type.Optional({ ...WireDate, description: "When the user was disabled; absent for other users." }),
});
export const OperatedUserPage = PageOf(OperatedUser);

const { location: _, ...signUpMembers } = CreateUser.properties;

/** As at sign-up, except for the location, which only the user may set. */
export const CreateOperatedUser = Type.Object(signUpMembers);

export const ChangeOperatedUser = Type.Object({
  username: ChangeUser.properties.username,
  email: ChangeUser.properties.email,
  firstName: ChangeUser.properties.firstName,
  lastName: ChangeUser.properties.lastName,
  celebMode: ChangeUser.properties.celebMode,
  locationFuzzing: ChangeUser.properties.locationFuzzing,
});

/** Counts stop at this number. */
export const countMax = 1_000;

const Count = Type.Integer({ description: `At most ${countMax}, then a minimum.` });

const Counts = named(
  "UserCounts",
  "The numbers of a user's objects.",
  Type.Object({
    tokens: Count,
    identities: Count,
    ...forOwnedTables(() => Count),
    metadata: {
      ...Count,
      description: `About the user and by the user: at most ${countMax}, then a minimum.`,
    },
    files: Type.Integer({ description: "Pictures, videos and blobs." }),
    fileBytes: Type.Integer({ format: "int64", description: "Bytes of these files together." }),
  }),
);
export type UserCounts = Static<typeof Counts>;

export const OperatedUserWithCounts = extended(
  "OperatedUserWithCounts",
  "A user, as operators see it, with the number of objects.",
  OperatedUser,
  { counts: Counts },
);

export const erasuresMax = 10;

export const Erasures = named(
  "Erasures",
  "The users of an application whose data is being erased.",
  Type.Object({
    users: {
      ...Type.Array(
        named(
          "Erasure",
          "A deleted user with data left to erase.",
          Type.Object({
            id: Type.String(),
            since: { ...WireDate, description: "When the user was deleted." },
            counts: { ...Counts, description: "What is left." },
          }),
        ),
      ),
      description: `At most ${erasuresMax}.`,
    },
    isMore: Type.Boolean({ description: "Whether there are others." }),
  }),
);

export function presentOperatedUser(user: UserRow): Static<typeof OperatedUser> {
  return {
    ...presentProfile(user),
    ...(user.profile_picture_id !== null && { profilePictureID: user.profile_picture_id }),
    hasPassword: user.password_hash !== "",
    ...(user.disabled_at !== null && { disabled: formatDate(user.disabled_at) }),
  };
}

export const ListOperatedTokens = Type.Object(pagingParameters);

const OperatedToken = named(
  "OperatedToken",
  "An active token of a user, as operators see it.",
  Type.Object({
    id: Type.String(),
    deviceID: Type.String(),
    platform: Type.String(),
    created: WireDate,
    lastUsed: WireDate,
    expires: WireDate,
  }),
);
export const OperatedTokenPage = PageOf(OperatedToken);

export function presentOperatedToken(token: ListedToken): Static<typeof OperatedToken> {
  return {
    id: token.id,
    deviceID: token.device_id,
    platform: token.platform,
    created: formatDate(token.created_at),
    lastUsed: formatDate(token.last_used_at),
    expires: formatDate(token.expires_at),
  };
}

export const EraseUser = Type.Object({ confirm: Text({ description: "The id of the user again." }) });

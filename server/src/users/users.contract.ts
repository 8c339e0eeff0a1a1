import type { ListedToken } from "../auth/user-tokens.ts";
import { PageOf, pagingParameters } from "../contract/paging.ts";
import { enumeration, extended, named, type Static, Type } from "../contract/schema.ts";
import { searchParameters } from "../contract/search.ts";
import {
  Choice,
  ClearableText,
  DateInput,
  DateRangeInput,
  Email,
  Flag,
  IdInput,
  LocationInput,
  Text,
  UserIdInput,
  WireDate,
  WireLocation,
} from "../contract/wire.ts";
import { formatDate } from "../lib/dates.ts";
import { shownLocation } from "../privacy/visibility.ts";
import type { ProfileRow } from "./users.store.ts";
import { isEmailVerified } from "./users.verified-addresses.ts";

export const nameCharactersMax = 256;
export const emailCharactersMax = 320;
const tagCharactersMax = 256;
const tagMeaning = "Any text of the app.";
const languageMeaning = "Of mails: a BCP 47 tag. Any other text is ignored.";

const GenderWord = enumeration("Gender", "The gender of a user. Requests may send its number instead.", {
  Unknown: "0: not known.",
  Male: "1: male.",
  Female: "2: female.",
});
/** The stored value of a gender is its index here. */
export const genders = GenderWord.enum;
const Gender = Choice(GenderWord, { numbered: true });

const userName = Text({
  maxLength: nameCharactersMax,
  description: "Unique regardless of case, Unicode form, blanks and invisible characters.",
});
export const NewPassword = Text({ minLength: 4, maxLength: 1024, keepsEmpty: true, description: "The new password." });

export const CreateUser = Type.Object({
  username: userName,
  password: NewPassword,
  email: Type.Optional(Email({ maxLength: emailCharactersMax })),
  firstName: Type.Optional(Text({ maxLength: nameCharactersMax })),
  lastName: Type.Optional(Text({ maxLength: nameCharactersMax })),
  gender: Type.Optional(Gender),
  dateOfBirth: Type.Optional(DateInput()),
  tag: Type.Optional(Text({ maxLength: tagCharactersMax, description: tagMeaning })),
  language: Type.Optional(Text({ description: languageMeaning })),
  location: Type.Optional(LocationInput()),
});

export const ChangeUser = Type.Object({
  username: Type.Optional(userName),
  password: Type.Optional(NewPassword),
  currentPassword: Type.Optional(
    Text({ keepsEmpty: true, description: "Required with password. The empty text is a wrong one." }),
  ),
  email: Type.Optional(Email({ maxLength: emailCharactersMax, keepsEmpty: true })),
  firstName: Type.Optional(ClearableText({ maxLength: nameCharactersMax })),
  lastName: Type.Optional(ClearableText({ maxLength: nameCharactersMax })),
  gender: Type.Optional(Gender),
  dateOfBirth: Type.Optional(DateInput()),
  tag: Type.Optional(ClearableText({ maxLength: tagCharactersMax, description: tagMeaning })),
  language: Type.Optional(ClearableText({ description: languageMeaning })),
  location: Type.Optional(LocationInput()),
  celebMode: Type.Optional(Flag({ description: "Others do not find the user, nor read the profile." })),
  locationFuzzing: Type.Optional(
    Flag({ description: "Others see the user's locations shifted by about a kilometre." }),
  ),
});

export const LoginUser = Type.Object({
  // No length limits: an unstorable or too long value is an unknown name or a wrong password.
  username: Text({ refusedAs: "AuthBadUsernameOrPassword", description: "In any case." }),
  password: Text({
    keepsEmpty: true,
    refusedAs: "AuthBadUsernameOrPassword",
    description: "The empty text is a wrong password.",
  }),
});

/** Not by email: the order relative to their own address would reveal the addresses of other users. */
export const userOrders = ["created", "lastModified", "userName", "firstName", "lastName", "gender"] as const;

export const SearchUsers = Type.Object({
  userName: Type.Optional(Text({ description: "Regardless of case and of Unicode form." })),
  email: Type.Optional(Email({ description: "Exact, except for blanks around it." })),
  firstName: Type.Optional(Text({ description: "Exact." })),
  lastName: Type.Optional(Text({ description: "Exact." })),
  gender: Type.Optional({ ...Gender, description: "Exact." }),
  dateOfBirth: Type.Optional(DateInput({ description: "Finds only the caller: others cannot see it." })),
  dobRange: Type.Optional(DateRangeInput({ description: "Of dateOfBirth. Finds only the caller." })),
  ...searchParameters("UserSortOrder", userOrders),
});

export const UserPath = Type.Object({ userId: UserIdInput({ description: "An id, or me.", unbuilt: ["lists"] }) });

/** The view that users have of themselves (spec/users#user-fields). */
const ownUser = Type.Object({
  id: Type.String(),
  userName: Type.String({ description: "Unique in the application." }),
  firstName: Type.Optional(Type.String()),
  lastName: Type.Optional(Type.String()),
  email: Type.Optional(Type.String()),
  emailVerified: Type.Optional(Type.Boolean({ description: "Present if a code mailed to email has come back." })),
  gender: Type.Optional(GenderWord),
  dateOfBirth: Type.Optional(WireDate),
  tag: Type.Optional(Type.String({ description: "Any text of the app." })),
  language: Type.Optional(Type.String({ description: "Of mails: a BCP 47 tag." })),
  location: Type.Optional(WireLocation),
  profilePictureID: Type.Optional(Type.String({ description: "The id of the profile picture." })),
  profilePictureUrl: Type.Optional(Type.String({ description: "Reads its bytes without a token, for some time." })),
  celebMode: Type.Boolean({ description: "Whether others neither find the user nor read the profile." }),
  locationFuzzing: Type.Boolean({
    description: "Whether others see the user's locations shifted by about a kilometre.",
  }),
  lastLogin: WireDate,
  created: WireDate,
  lastModified: WireDate,
});

export const OwnUser = named("OwnUser", "A user, as the user sees it.", ownUser);

const { emailVerified: _, language: __, ...sharedProperties } = ownUser.properties;

/** What other users of the application see of a user: most optional fields are absent. */
export const ShownUser = named(
  "ShownUser",
  "A user, as other users of the application see it: without most of the optional fields.",
  Type.Object({
    ...sharedProperties,
    celebMode: Type.Optional(OwnUser.properties.celebMode),
    locationFuzzing: Type.Optional(OwnUser.properties.locationFuzzing),
    lastLogin: Type.Optional(OwnUser.properties.lastLogin),
    lastModified: Type.Optional(OwnUser.properties.lastModified),
  }),
);

export const UserPage = PageOf(ShownUser);

/** The result of creation and login. */
export const UserWithToken = extended("UserWithToken", "A user, and a new token of the user.", OwnUser, {
  accessToken: Type.String({ description: "User access token, opaque." }),
  accessTokenExpires: WireDate,
});

/** The result of logout: a new device token. */
export const DeviceToken = named(
  "DeviceToken",
  "A new token of the device.",
  Type.Object({
    accessToken: Type.String({ description: "Device access token, opaque." }),
    accessTokenExpires: WireDate,
  }),
);

/** The successor of a user token (spec/authentication#renewal). */
export const RenewedToken = named(
  "RenewedToken",
  "The successor of a user token.",
  Type.Object({
    accessToken: Type.String({ description: "User access token, opaque." }),
    accessTokenExpires: WireDate,
  }),
);

export const ListTokens = Type.Object(pagingParameters);
export const TokenPath = Type.Object({ tokenId: IdInput("Token") });

/** A live token of the user (spec/users#list-and-end-tokens). */
export const UserToken = named(
  "UserToken",
  "An active token of a user.",
  Type.Object({
    id: Type.String(),
    deviceID: Type.String(),
    platform: Type.String(),
    created: WireDate,
    lastUsed: WireDate,
    expires: WireDate,
    current: Type.Boolean({ description: "Whether the call was made with it." }),
  }),
);

export const UserTokenPage = PageOf(UserToken);

/** Returns the URL that serves a picture without a token. */
export type PictureUrl = (applicationId: string, pictureId: string) => string;

export function presentOwnUser(user: ProfileRow, pictureUrl: PictureUrl): Static<typeof OwnUser> {
  return { ...presentProfile(user), ...presentPicture(user, pictureUrl) };
}

/** Returns the complete profile of a user, without the URL of the profile picture. */
export function presentProfile(user: ProfileRow): Static<typeof OwnUser> {
  const gender = genders[user.gender ?? -1];
  const location = shownLocation(user, true);
  return {
    ...presentNames(user),
    ...(user.email !== null && { email: user.email }),
    ...(isEmailVerified(user) && { emailVerified: true }),
    ...(gender !== undefined && { gender }),
    ...(user.date_of_birth !== null && { dateOfBirth: formatDate(user.date_of_birth) }),
    ...(user.tag !== null && { tag: user.tag }),
    ...(user.language !== null && { language: user.language }),
    ...(location !== undefined && { location }),
    celebMode: user.celeb_mode === 1,
    locationFuzzing: user.location_fuzzing === 1,
    lastLogin: formatDate(user.last_login_at),
    created: formatDate(user.created_at),
    lastModified: formatDate(user.modified_at),
  };
}

/** Presents a user as `readerId` sees it. */
export function presentUser(user: ProfileRow, readerId: string, pictureUrl: PictureUrl): Static<typeof ShownUser> {
  if (user.id === readerId) return presentOwnUser(user, pictureUrl);
  const picture = user.is_picture_shared === 1 && presentPicture(user, pictureUrl);
  return { ...presentNames(user), ...picture, created: formatDate(user.created_at) };
}

function presentPicture({ application_id, profile_picture_id: id }: ProfileRow, pictureUrl: PictureUrl) {
  return id === null ? {} : { profilePictureID: id, profilePictureUrl: pictureUrl(application_id, id) };
}

function presentNames(user: ProfileRow) {
  return {
    id: user.id,
    userName: user.user_name,
    ...(user.first_name !== null && { firstName: user.first_name }),
    ...(user.last_name !== null && { lastName: user.last_name }),
  };
}

export function presentUserToken(token: ListedToken, currentTokenId: string): Static<typeof UserToken> {
  return {
    id: token.id,
    deviceID: token.device_id,
    platform: token.platform,
    created: formatDate(token.created_at),
    lastUsed: formatDate(token.last_used_at),
    expires: formatDate(token.expires_at),
    current: token.id === currentTokenId,
  };
}

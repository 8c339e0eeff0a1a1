import type { UserRow } from "../db/tables.ts";
import { type Static, Type } from "../http/schema.ts";
import { Text, WireDate } from "../http/wire.ts";
import { formatDate } from "../lib/dates.ts";

const nameCharactersMax = 256;
const emailCharactersMax = 320;

export const CreateUser = Type.Object({
  username: Text({ maxLength: nameCharactersMax, description: "Unique regardless of case and of Unicode form." }),
  password: Text({ minLength: 4, maxLength: 1024, keepsEmpty: true }),
  email: Type.Optional(Text({ maxLength: emailCharactersMax })),
  firstName: Type.Optional(Text({ maxLength: nameCharactersMax })),
  lastName: Type.Optional(Text({ maxLength: nameCharactersMax })),
});

export const LoginUser = Type.Object({
  // Without bounds: what is too long is an unknown name or a wrong password.
  username: Text({}),
  password: Text({ keepsEmpty: true, description: "The empty text is a wrong password." }),
});

/** A user as the user itself sees it (service.md "User"). */
export const OwnUser = Type.Object({
  id: Type.String(),
  userName: Type.String(),
  firstName: Type.Optional(Type.String()),
  lastName: Type.Optional(Type.String()),
  email: Type.Optional(Type.String()),
  celebMode: Type.Boolean(),
  locationFuzzing: Type.Boolean(),
  lastLogin: WireDate,
  created: WireDate,
  lastModified: WireDate,
});

/** The result of creation and login. */
export const UserWithToken = Type.Object({
  ...OwnUser.properties,
  accessToken: Type.String({ description: "User access token, opaque." }),
  accessTokenExpires: WireDate,
});

/** The result of logout: a fresh device token to go on with. */
export const DeviceToken = Type.Object({
  accessToken: Type.String({ description: "Device access token, opaque." }),
  accessTokenExpires: WireDate,
});

export function presentOwnUser(user: UserRow): Static<typeof OwnUser> {
  return {
    id: user.id,
    userName: user.user_name,
    ...(user.first_name !== null && { firstName: user.first_name }),
    ...(user.last_name !== null && { lastName: user.last_name }),
    ...(user.email !== null && { email: user.email }),
    celebMode: user.celeb_mode === 1,
    locationFuzzing: user.location_fuzzing === 1,
    lastLogin: formatDate(user.last_login_at),
    created: formatDate(user.created_at),
    lastModified: formatDate(user.modified_at),
  };
}
